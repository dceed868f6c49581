"""Leave out rows that a fit must not see, and count them."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.sets.columns import get_text
from hpcbench.predict.tables.sizes import invalid_sizes
from hpcbench.util.text import plural

INTERFERENCE = "interference"
_CLEAN = ("", "clean", "no", "false", "0", "0.0", "unmonitored")
_NAMES = {"time_s": "time", "forward_s": "time", "backward_s": "time", "power_w": "power", "energy_j": "energy"}


def contaminated(rows: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which rows were measured with interference, by the column `interference`: a boolean or a text."""
    return ~get_text(rows, INTERFERENCE).str.lower().isin(_CLEAN).to_numpy(dtype=bool)


def without_invalid(
    table: pd.DataFrame, targets: Collection[str], sizes: Collection[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows of a table without invalid values, and sentences with their counts per file.

    A row is left out if it has no value of any target, if a target is zero, negative or infinite, or if a size, such as
    FLOPs or bytes, is negative or infinite.
    """
    flaws: list[str] = []
    valid = table[list(targets)].notna().any(axis=1).to_numpy()
    flaws += _counted(table[~valid], "without measurement")
    for target in targets:
        wrong = valid & is_impossible(table[target])
        flaws += _counted(table[wrong], _impossible(target))
        valid = valid & ~wrong
    wrong = valid & invalid_sizes(table[list(sizes)])
    flaws += _counted(table[wrong], "FLOPs, bytes or a size negative or infinite")
    return table[valid & ~wrong].reset_index(drop=True), flaws


def is_impossible(target: pd.Series) -> NDArray[np.bool_]:
    """Return which values of a target are zero, negative or infinite; none of those that are absent."""
    values = target.to_numpy(dtype="float64")
    return np.asarray(~np.isnan(values) & ~((values > 0) & np.isfinite(values)))


def not_compared(table: pd.DataFrame, targets: Collection[str]) -> list[str]:
    """Return sentences with the counts of measurements per file that predictions are not compared with."""
    return [
        flaw
        for target in targets
        for flaw in _counted(table[is_impossible(table[target])], _impossible(target), "not compared")
    ]


def _impossible(target: str) -> str:
    return f"{_NAMES[target]} zero, negative or infinite"


def of_one_device(networks: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows of a table of networks that one device computed, and sentences with the counts of the others."""
    several = (networks["devices"] > 1).to_numpy(dtype=bool)
    return networks[~several].reset_index(drop=True), _counted(networks[several], "several devices")


def _counted(rows: pd.DataFrame, reason: str, done: str = "left out") -> list[str]:
    counts = rows["file"].value_counts(sort=False)
    return [f"{file}: {plural(int(count), 'row')} {done} ({reason})" for file, count in counts.items()]
