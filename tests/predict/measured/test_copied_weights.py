"""Copies of the weights of recurrent layers and convolutions on CPUs."""

from __future__ import annotations

import pandas as pd
import pytest

from hpcbench.predict.measured.copied_weights import copied_bytes
from hpcbench.predict.tables import operators as table

KERNEL = {
    "kind": table.CONV,
    "function": "conv2d",
    "batch": 2,
    "m": 16,
    "n": 64,
    "k": 288,
}  # 2 groups, 32 inputs, 3 x 3


def layer(**columns: object) -> pd.DataFrame:
    """A layer of 256 units: 1024 gates of 512 inputs in float32."""
    work = {"kind": table.RNN, "phase": "forward", "m": 8, "n": 1024, "k": 512, "dtype": "float32"}
    return table.complete(pd.DataFrame([{**work, **columns}]))


@pytest.mark.parametrize(
    ("columns", "passes"), [({}, 2), ({"rows": 128}, 2), ({"phase": ""}, 2), ({"phase": "backward"}, 4)]
)
def test_each_call_reads_and_writes_the_weights_and_gradients(columns: dict[str, object], passes: int) -> None:
    assert copied_bytes(layer(**columns))[0] == passes * 1024 * 512 * 4


@pytest.mark.parametrize(
    "columns",
    [
        KERNEL,
        {**KERNEL, "m": 4096},  # more images
        {**KERNEL, "kind": table.CONV_WEIGHT_GRADIENT, "phase": "backward", "m": 64, "n": 288, "k": 16},
        {**KERNEL, "kind": table.CONV_INPUT_GRADIENT, "phase": "backward", "stride": 2, "m": 64, "n": 32, "k": 144},
    ],
)
def test_convolutions_and_their_gradients_copy_the_weights_once(columns: dict[str, object]) -> None:
    assert copied_bytes(layer(**columns))[0] == 2 * (2 * 64 * 32 * 9) * 4


@pytest.mark.parametrize("columns", [{"kind": table.GEMM}, {"k": float("nan")}])
def test_other_kinds_and_unknown_sizes_copy_nothing(columns: dict[str, object]) -> None:
    assert copied_bytes(layer(**columns))[0] == 0
