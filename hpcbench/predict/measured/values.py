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


def texts(frame: pd.DataFrame, *names: str) -> pd.Series:
    """Return the first of these columns that is not empty, row by row, as text; empty if all are."""
    found = pd.Series("", index=frame.index, dtype="object")
    for name in names:
        if name in frame:
            known = frame[name].astype("object").where(frame[name].notna(), "").map(str)
            found = found.where(found != "", known)
    return found
