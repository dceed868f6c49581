"""Groups of operators with similar shapes."""

from __future__ import annotations

import numpy as np
import pandas as pd

FOLDS = 2  # of groups of shapes
_LARGEST = 2.0**62  # stands for an infinite size, of an operator that cannot be predicted
_SHAPE = ("batch", "m", "n", "k", "rows", "columns", "heads")


def shape_fold(rows: pd.DataFrame) -> np.ndarray:
    """Return the number of the fold of each row of a table of operators; similar shapes share it."""
    sizes = rows[list(_SHAPE)].fillna(1.0).clip(lower=1.0, upper=_LARGEST)
    cells = np.floor(np.log2(sizes)).astype("int64")  # a factor of two
    hashed = pd.util.hash_pandas_object(pd.DataFrame(cells), index=False).to_numpy()
    return np.asarray(hashed % np.uint64(1009) % np.uint64(FOLDS), dtype="int64")
