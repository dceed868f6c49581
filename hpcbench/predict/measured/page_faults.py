"""The time of page faults on CPUs: Linux clears the pages of a new large array when an operator first writes to it.

The C library returns arrays of at least 32 MiB to Linux when they are freed, and requests them again for the next one
(mallopt(3), M_MMAP_THRESHOLD). Products, convolutions and row-wise operators write to new arrays. Convolutions, and
their gradients of inputs, also copy the weights to another layout (oneDNN's reorders), to an array of the same size.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.predict.operators.roofline import CONVOLUTIONS, PRODUCTS
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.element_bytes import element_bytes_of
from hpcbench.predict.tables.prediction import Floats

_LARGE_BYTES = 2**25  # DEFAULT_MMAP_THRESHOLD_MAX of glibc on 64-bit systems
_PAGE_BYTES = 4096
_PAGE_S = 1e-6  # of a fault with the clearing of its page: an assumption, since it is 0.5 to 2 us
FAULT_SPREAD = 0.35  # of this time, as a logarithm: 2 us are two deviations above 1 us
_COPY_WEIGHTS = (table.CONV, table.CONV_INPUT_GRADIENT)
_IN_PLACE = (table.OPTIMIZER, table.RNN, table.UNKNOWN)  # kinds that write to no new array, or whose size is unknown


def fault_times(rows: pd.DataFrame) -> Floats:
    """Return the time of page faults in one call of each row of a table of operators, in seconds."""
    element = element_bytes_of(rows["dtype"])
    is_product = rows["kind"].isin((*PRODUCTS, *CONVOLUTIONS))
    output = _size(rows, "batch", "m", "n") * element
    in_place = rows["kind"].isin(_IN_PLACE) | (rows["phase"] == table.UPDATE)  # optimizers update their arrays
    elements = np.where(in_place, 0.0, _size(rows, "rows", "columns") * element)
    copied = np.where(rows["kind"].isin(_COPY_WEIGHTS), _size(rows, "batch", "n", "k") * element, 0.0)
    written = _if_large(np.where(is_product, output, elements)) + _if_large(copied)
    return np.asarray(written / _PAGE_BYTES * _PAGE_S)


def _size(rows: pd.DataFrame, *names: str) -> Floats:
    found: Floats = np.nan_to_num(rows[list(names)].prod(axis=1, skipna=False).to_numpy(dtype="float64"))
    return found


def _if_large(size: Floats) -> Floats:
    return np.where(size >= _LARGE_BYTES, size, 0.0)
