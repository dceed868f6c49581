"""The time of page faults of large arrays on CPUs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.measured.page_faults import fault_pages, page_time, without_faults
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
        # With a stride of 2, an input meets 1 of 4 elements of the kernel in two dimensions, and 1 of 2 in one.
        (table.CONV_INPUT_GRADIENT, {"batch": 1, "m": 64, "n": 1024, "k": 2304, "stride": 2, "function": "conv2d"}, 36),
        (table.CONV_INPUT_GRADIENT, {"batch": 1, "m": 64, "n": 1024, "k": 4608, "stride": 2, "function": "conv1d"}, 36),
        (table.CONV_WEIGHT_GRADIENT, {"batch": 1, "m": 1024, "n": 9216, "k": 16}, 36),
        (table.POINTWISE, {"rows": 4096, "columns": 4096}, 64),
        (table.GATHER, {"rows": 30522, "columns": 768}, 0),  # the sizes of the table, not of the vectors
        (table.REDUCTION, {"rows": 8192, "columns": 4096}, 0),
        (table.POOLING, {"rows": 8192, "columns": 4096}, 0),
        (table.ATTENTION, {"batch": 1, "rows": 4096, "columns": 4096}, 0),
        (table.OPTIMIZER, {"rows": 10, "columns": 1e8}, 0),  # updates in place
        (table.POINTWISE, {"rows": 4096, "columns": 4096, "phase": "optimizer"}, 0),
    ],
)
def test_arrays_of_at_least_32_mib_have_a_fault_per_page(kind: str, sizes: dict[str, Any], written_mib: float) -> None:
    assert fault_pages(row(kind, **sizes))[0] == pytest.approx(written_mib * MIB / 4096)


def test_elements_of_two_bytes_need_half_of_the_memory() -> None:
    half = row(table.POINTWISE, rows=4096, columns=4096).assign(dtype="bfloat16")
    assert fault_pages(half)[0] == pytest.approx(32 * MIB / 4096)
    assert fault_pages(half.assign(columns=4095.0))[0] == 0


def test_a_page_takes_a_microsecond_unless_measured_operators_take_less() -> None:
    large = row(table.POINTWISE, rows=4096, columns=4096)  # 16,384 pages
    assert page_time(large.assign(columns=8.0, time_s=1e-6)) == 1e-6
    assert page_time(large.assign(time_s=0.1)) == 1e-6
    assert page_time(large.assign(time_s=1e-3)) == pytest.approx(0.8e-3 / 16384)


def test_page_faults_are_at_most_four_fifths_of_the_measured_time() -> None:
    found = without_faults(np.array([1.0, 1.0]), np.array([0.3, 0.9]))
    assert found == pytest.approx([0.7, 0.2])
