"""Leave out rows that a fit must not see, and count them."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.sets.columns import get_text
from hpcbench.util.text import plural

INTERFERENCE = "interference"
_CLEAN = ("", "clean", "no", "false", "0", "unmonitored")
_NAMES = {"time_s": "time", "forward_s": "time", "backward_s": "time", "power_w": "power", "energy_j": "energy"}


def contaminated(rows: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which rows were measured with interference, by the column `interference`: a boolean or a text."""
    return ~get_text(rows, INTERFERENCE).str.lower().isin(_CLEAN).to_numpy(dtype=bool)


def without_invalid(table: pd.DataFrame, targets: Collection[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows of a table without invalid measurements, and sentences with their counts per file.

    A row is left out if it has no value of any target, or one that is zero, negative or infinite.
    """
    flaws: list[str] = []
    valid = table[list(targets)].notna().any(axis=1).to_numpy()
    for file, count in table.loc[~valid, "file"].value_counts(sort=False).items():
        flaws.append(f"{file}: {plural(int(count), 'row')} without a measurement left out")
    for target in targets:
        values = table[target].to_numpy(dtype="float64")
        wrong = valid & ~np.isnan(values) & ~((values > 0) & np.isfinite(values))
        for file, count in table.loc[wrong, "file"].value_counts(sort=False).items():
            what = f"with a {_NAMES[target]} that is zero, negative or infinite left out"
            flaws.append(f"{file}: {plural(int(count), 'row')} {what}")
        valid = valid & ~wrong
    return table[valid].reset_index(drop=True), flaws
