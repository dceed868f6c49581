"""Data types of 16 bits that count as one."""

from __future__ import annotations

import pandas as pd

from hpcbench.predict.operators.precision import precisions
from tests.predict.networks.listed.fleet_of_two import device


def test_float16_counts_as_bfloat16_where_both_are_equally_fast() -> None:
    devices = {
        "new": device("new", matrix_flops_per_s={"float16": 1e14, "bfloat16": 1e14}),
        "old": device("old", matrix_flops_per_s={"float16": 1e14}),
    }
    rows = pd.DataFrame(
        {"device": ["new", "new", "old", "absent"], "dtype": ["float16", "float32", "float16", "float16"]}
    )
    assert list(precisions(rows, devices)) == ["bfloat16", "float32", "float16", "float16"]
