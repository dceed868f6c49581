"""The bytes of elements of data types."""

from __future__ import annotations

import pandas as pd
import pytest

from hpcbench.predict.operators.device_columns import PRECISIONS
from hpcbench.predict.tables.element_bytes import element_bytes, element_bytes_of

SIZES = {
    "float64": 8,
    "int64": 8,
    "float32": 4,
    "tf32": 4,
    "float16": 2,
    "bfloat16": 2,
    "float8": 1,
    "float8_block": 1,
    "float8_e4m3fn": 1,
    "int8": 1,
    "bool": 1,
    "complex128": 16,
    "new": 4,
    "": 4,
}


@pytest.mark.parametrize("dtype", SIZES)
def test_an_element_has_its_bytes(dtype: str) -> None:
    assert element_bytes(dtype) == SIZES[dtype]


def test_each_row_has_the_bytes_of_its_data_type() -> None:
    assert element_bytes_of(pd.Series(list(SIZES))).tolist() == list(SIZES.values())


def test_precisions_have_known_sizes() -> None:
    assert PRECISIONS.keys() <= SIZES.keys()
