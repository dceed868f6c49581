"""The weights that layers on CPUs copy to the layout of their kernels, once in each call.

oneDNN keeps no copy between calls (its reorders of weights). Recurrent layers of few steps, and convolutions of few
images, therefore take longer for each step or image. The backward pass of recurrent layers copies the weights, and
their gradients back. Gradients of convolutions copy the weights, or the gradient of the weights.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.element_bytes import element_bytes_of
from hpcbench.predict.tables.prediction import Floats

_PASSES = 2.0  # over the weights: a copy reads and writes
_SIZES = {
    table.RNN: ("n", "k"),
    table.CONV: ("batch", "n", "k"),
    table.CONV_INPUT_GRADIENT: ("batch", "n", "k"),
    table.CONV_WEIGHT_GRADIENT: ("batch", "m", "n"),
}


def copied_bytes(rows: pd.DataFrame) -> Floats:
    """Return the bytes that copies of weights move in one call of each row of a table of operators; 0 if unknown."""
    is_both = (rows["kind"] == table.RNN) & (rows["phase"] == table.BACKWARD)
    return weight_elements(rows) * element_bytes_of(rows["dtype"]) * _PASSES * np.where(is_both, 2.0, 1.0)


def weight_elements(rows: pd.DataFrame) -> Floats:
    """Return the number of weights of each row, of recurrent layers and convolutions; 0 for others, and if unknown."""
    found = np.zeros(len(rows))
    for kind, names in _SIZES.items():
        found = np.where(rows["kind"] == kind, rows[list(names)].prod(axis=1, skipna=False), found)
    # k of a gradient of inputs has only the elements of the kernel that an input meets: 1 of `stride` per dimension.
    # That is exact if the output has 1 of `stride` pixels of the input per dimension.
    dimensions = rows["function"].str.extract(r"conv(\d)d", expand=False).astype("float64").fillna(2.0)
    of_kernel = rows["stride"].fillna(1.0) ** dimensions
    return np.nan_to_num(found * np.where(rows["kind"] == table.CONV_INPUT_GRADIENT, of_kernel, 1.0))
