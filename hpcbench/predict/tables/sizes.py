"""Check the sizes of operators and networks: counts of elements, FLOPs and bytes."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def invalid_sizes(sizes: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which rows have a size that is negative or infinite. Sizes that an operator does not have are NaN."""
    values = sizes.to_numpy(dtype="float64")
    return np.asarray(((values < 0) | np.isinf(values)).any(axis=1))
