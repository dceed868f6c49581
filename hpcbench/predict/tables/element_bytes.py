"""The bytes of one element of each data type: the only table of them in the predictor."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

_BYTES = {
    "complex128": 16,
    **dict.fromkeys(("float64", "int64", "uint64", "complex64"), 8),
    **dict.fromkeys(("float32", "tf32", "int32", "uint32", "complex32"), 4),
    **dict.fromkeys(("float16", "bfloat16", "int16", "uint16"), 2),
    **dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"), 1),
    **dict.fromkeys(("float8", "float8_block", "int8", "uint8", "bool"), 1),
}
_DEFAULT = 4  # of an unknown data type, as of float32


def element_bytes(dtype: str) -> int:
    """Return the bytes of an element of a data type, by its name in PyTorch or in the tables; 4 if it is unknown."""
    return _BYTES.get(dtype, _DEFAULT)


def element_bytes_of(dtypes: pd.Series) -> NDArray[np.float64]:
    """Return the bytes of an element of each row's data type."""
    return np.asarray(dtypes.map(_BYTES).fillna(_DEFAULT), dtype="float64")
