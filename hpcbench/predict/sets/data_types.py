"""The names of data types in files, as those of the tables."""

from __future__ import annotations

import pandas as pd

from hpcbench.predict.sets.columns import get_text

_NAMES = {
    "fp8": "float8",
    "fp8_block": "float8_block",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "fp64": "float64",
}
_AUTO = "auto"  # of serving libraries: keys and values are cached in the data type of the model


def data_types(column: pd.Series) -> pd.Series:
    """Return the data types of a column of text by their names in the tables; unknown names are unchanged."""
    return column.replace(_NAMES)


def cache_types(rows: pd.DataFrame, default: pd.Series | str) -> pd.Series:
    """Return the data types of cached keys and values, the column `kv_dtype`; empty if they are the default."""
    found = data_types(get_text(rows, "kv_dtype"))
    return found.mask((found == _AUTO) | (found == default), "")
