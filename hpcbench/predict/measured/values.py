"""Values of columns that may be absent, or empty in some rows."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.predict.tables.prediction import Floats


def numbers(frame: pd.DataFrame, *names: str) -> Floats:
    """Return the first of these columns that is not empty, row by row, as numbers; NaN if all are empty or absent."""
    found = pd.Series(float("nan"), index=frame.index, dtype="float64")
    for name in names:
        if name in frame:
            found = found.fillna(pd.to_numeric(frame[name], errors="coerce").astype("float64"))
    return np.asarray(found, dtype=np.float64)


def texts(frame: pd.DataFrame, name: str) -> pd.Series:
    """Return a column as text; empty in rows without a value, or if it is absent."""
    if name not in frame:
        return pd.Series("", index=frame.index, dtype="object")
    return frame[name].astype("object").where(frame[name].notna(), "").map(str)
