"""The time in which recurrent layers on CPUs copy their weights to the layout of their kernels, once in each call.

oneDNN keeps no copy between calls (its reorders of `weights_layer` and `weights_iter`). A call of few steps therefore
takes longer for each step. The backward pass copies the weights, and their gradients back.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.predict.operators.roofline import Bounds
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.element_bytes import element_bytes_of
from hpcbench.predict.tables.prediction import Floats

_FORWARD, _BACKWARD = 2.0, 4.0  # passes over the weights: a copy reads and writes


def copy_times(rows: pd.DataFrame, limits: Bounds) -> Floats:
    """Return the time of copies in one call of each row of a table of operators, in seconds; 0 for other kinds.

    `limits` has the time of all bytes of each row, and thus the bandwidth.
    """
    passes = np.where(rows["phase"] == table.BACKWARD, _BACKWARD, _FORWARD)
    weights = (rows["n"] * rows["k"]).to_numpy(dtype="float64") * element_bytes_of(rows["dtype"])
    moved = rows["bytes"].to_numpy(dtype="float64")
    is_known = (rows["kind"] == table.RNN).to_numpy() & (moved > 0) & np.isfinite(weights)
    return np.where(is_known, passes * weights / np.where(moved > 0, moved, 1.0) * limits.memory_s, 0.0)
