"""The time of page faults on CPUs: Linux clears the pages of a new large array when an operator first writes to it.

The C library returns arrays of at least 32 MiB to Linux when they are freed, and requests them again for the next one
(mallopt(3), M_MMAP_THRESHOLD). Products, convolutions and row-wise operators write to new arrays. Convolutions, and
their gradients of inputs, also copy the weights to another array of the same size. Gradients of weights are counted
once, as results.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.predict.measured.copied_weights import weight_elements
from hpcbench.predict.operators.roofline import CONVOLUTIONS, PRODUCTS
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.element_bytes import element_bytes_of
from hpcbench.predict.tables.prediction import Floats

FAULT_SPREAD = 0.35  # of the time of faults, as a logarithm: 2 us are two deviations above 1 us
_LARGE_BYTES = 2**25  # DEFAULT_MMAP_THRESHOLD_MAX of glibc on 64-bit systems
_PAGE_BYTES = 4096  # of Linux on x86; kernels for AArch64 may have pages of 64 KiB, with fewer faults
_PAGE_S = 1e-6  # of a fault and the clearing of its page, with one thread: an assumption
_MOST_FAULTS = 0.8  # share of the time of an operator that is page faults, at most: an assumption
_QUANTILE = 0.1  # of measured times per page: the shortest may be of operators that reuse an array
_COPY_WEIGHTS = (table.CONV, table.CONV_INPUT_GRADIENT)
# Kinds whose result has as many elements as `rows` x `columns`; for others, these are the sizes of an input.
_ROW_WISE = (table.POINTWISE, table.SOFTMAX, table.LAYER_NORM, table.BATCH_NORM, table.COPY)


def fault_pages(rows: pd.DataFrame) -> Floats:
    """Return the pages of new large arrays in one call of each row of a table of operators.

    All optimizers count as in-place updates, as SGD is, and have no pages. In-place activations count like those that
    write to a new array, because the table does not distinguish them.
    """
    element = element_bytes_of(rows["dtype"])
    is_product = rows["kind"].isin((*PRODUCTS, *CONVOLUTIONS))
    is_row_wise = rows["kind"].isin(_ROW_WISE) & (rows["phase"] != table.UPDATE)
    output = np.where(is_product, _size(rows, "batch", "m", "n"), 0.0)
    output = np.where(is_row_wise, _size(rows, "rows", "columns"), output)
    copied = np.where(rows["kind"].isin(_COPY_WEIGHTS), weight_elements(rows), 0.0)
    return np.asarray((_if_large(output * element) + _if_large(copied * element)) / _PAGE_BYTES)


def page_time(rows: pd.DataFrame) -> float:
    """Return the time of one page fault on the CPUs that measured these rows, in seconds.

    It is an assumption, or less if measured operators with page faults take less time: many threads, huge pages and
    other allocators make faults cheaper.
    """
    pages = fault_pages(rows)
    is_large = pages > 0
    if not is_large.any():
        return _PAGE_S
    measured = rows["time_s"].to_numpy(dtype="float64")[is_large] / pages[is_large]
    return min(_PAGE_S, _MOST_FAULTS * float(np.quantile(measured, _QUANTILE)))


def without_faults(time_s: Floats, faults_s: Floats) -> Floats:
    """Return measured times without the time of page faults, in seconds; at least a fifth of the measured time."""
    return np.maximum(time_s - faults_s, (1.0 - _MOST_FAULTS) * time_s)


def _size(rows: pd.DataFrame, *names: str) -> Floats:
    found: Floats = np.nan_to_num(rows[list(names)].prod(axis=1, skipna=False).to_numpy(dtype="float64"))
    return found


def _if_large(size: Floats) -> Floats:
    return np.where(size >= _LARGE_BYTES, size, 0.0)
