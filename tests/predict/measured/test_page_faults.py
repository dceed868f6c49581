"""The time of page faults of large arrays on CPUs."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from hpcbench.predict.measured.page_faults import fault_times
from hpcbench.predict.tables import operators as table

MIB = 2**20


def row(kind: str, **sizes: Any) -> pd.DataFrame:
    return table.complete(pd.DataFrame([{"kind": kind, "dtype": "float32", **sizes}]))


@pytest.mark.parametrize(
    ("kind", "sizes", "written_mib"),
    [
        (table.GEMM, {"batch": 1, "m": 4096, "n": 4096, "k": 8}, 64),  # a gradient of weights
        (table.GEMM, {"batch": 1, "m": 4096, "n": 1024, "k": 8}, 0),  # 16 MiB stay in the heap
        (table.CONV, {"batch": 1, "m": 16, "n": 1024, "k": 9216}, 36),  # the copy of the weights
        (table.CONV_INPUT_GRADIENT, {"batch": 1, "m": 16, "n": 1024, "k": 9216}, 36),
        (table.CONV_WEIGHT_GRADIENT, {"batch": 1, "m": 1024, "n": 9216, "k": 16}, 36),
        (table.POINTWISE, {"rows": 4096, "columns": 4096}, 64),
        (table.OPTIMIZER, {"rows": 10, "columns": 1e8}, 0),  # updates in place
        (table.POINTWISE, {"rows": 4096, "columns": 4096, "phase": "optimizer"}, 0),
    ],
)
def test_arrays_of_at_least_32_mib_have_a_fault_per_page(kind: str, sizes: dict[str, Any], written_mib: float) -> None:
    assert fault_times(row(kind, **sizes))[0] == pytest.approx(written_mib * MIB / 4096 * 1e-6)


def test_elements_of_two_bytes_need_half_of_the_memory() -> None:
    half = row(table.POINTWISE, rows=4096, columns=4096).assign(dtype="bfloat16")
    assert fault_times(half)[0] == pytest.approx(32 * MIB / 4096 * 1e-6)
    assert fault_times(half.assign(columns=4095.0))[0] == 0
