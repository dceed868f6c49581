"""The weights that recurrent layers on CPUs copy to the layout of their kernels, once in each call.

oneDNN keeps no copy between calls (its reorders of `weights_layer` and `weights_iter`). A call of few steps therefore
takes longer for each step. The backward pass copies the weights, and their gradients back.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.element_bytes import element_bytes_of
from hpcbench.predict.tables.prediction import Floats

_OF_FORWARD, _OF_BACKWARD = 2.0, 4.0  # passes over the weights: a copy reads and writes


def copied_bytes(rows: pd.DataFrame) -> Floats:
    """Return the bytes that copies of weights move in one call of each row of a table of operators; 0 if unknown."""
    passes = np.where(rows["phase"] == table.BACKWARD, _OF_BACKWARD, _OF_FORWARD)
    weights = (rows["n"] * rows["k"]).where(rows["kind"] == table.RNN, 0.0).fillna(0.0)
    return np.asarray(passes * weights * element_bytes_of(rows["dtype"]), dtype="float64")
