"""Columns of a file as arrays, also if they are absent."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

_TRUE = ("true", "1", "1.0", "yes")


class Getter:
    """Columns of a frame as float64 arrays; NaN if a column is absent."""

    def __init__(self, rows: pd.DataFrame) -> None:
        self.rows = rows

    def __call__(self, name: str) -> NDArray[np.float64]:
        if name not in self.rows:
            return np.full(len(self.rows), np.nan)
        return self.rows[name].to_numpy(dtype="float64", na_value=np.nan)


def get_text(rows: pd.DataFrame, name: str) -> pd.Series:
    """Return a column of text; empty if it is absent or null."""
    if name not in rows:
        return pd.Series("", index=rows.index, dtype="object")
    column = rows[name].astype("object")
    return column.where(column.notna(), "").astype(str).astype("object")


def get_flag(rows: pd.DataFrame, name: str) -> NDArray[np.bool_]:
    """Return a column of booleans, which may be text; False if it is absent or null."""
    if name not in rows:
        return np.zeros(len(rows), dtype=bool)
    return get_text(rows, name).str.lower().isin(_TRUE).to_numpy(dtype=bool)
