"""Copies of the weights of recurrent layers on CPUs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.measured.recurrent_weights import copy_times
from hpcbench.predict.operators.roofline import Bounds
from hpcbench.predict.tables import operators as table

BYTES_PER_S = 10e9


def layer(**columns: object) -> pd.DataFrame:
    """A layer of 256 units: 1024 gates of 512 inputs in float32."""
    work = {"kind": table.RNN, "phase": "forward", "m": 8, "n": 1024, "k": 512, "dtype": "float32", "bytes": 3e6}
    return table.complete(pd.DataFrame([{**work, **columns}]))


def time_of(rows: pd.DataFrame) -> float:
    moved = rows["bytes"].fillna(0.0).to_numpy(dtype="float64")
    return float(copy_times(rows, Bounds(np.zeros(len(rows)), moved / BYTES_PER_S))[0])


def test_each_call_reads_and_writes_the_weights_once() -> None:
    assert time_of(layer()) == pytest.approx(2 * 1024 * 512 * 4 / BYTES_PER_S)
    assert time_of(layer(rows=128, bytes=9e6)) == pytest.approx(time_of(layer(rows=16, bytes=2e6)))


def test_the_backward_pass_copies_weights_and_gradients() -> None:
    assert time_of(layer(phase="backward")) == pytest.approx(2 * time_of(layer()))


@pytest.mark.parametrize(
    "columns", [{"kind": table.GEMM}, {"bytes": float("nan")}, {"bytes": 0.0}, {"k": float("nan")}]
)
def test_other_kinds_and_unknown_sizes_copy_nothing(columns: dict[str, object]) -> None:
    assert time_of(layer(**columns)) == 0
