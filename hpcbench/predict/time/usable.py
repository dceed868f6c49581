"""Which rows of a table of operators a fit can use, and what is wrong with the others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.operators.device_columns import PRECISIONS
from hpcbench.predict.operators.roofline import MATRIX_KINDS
from hpcbench.predict.operators.states import at_lower_clock, lowered_power_limit
from hpcbench.predict.tables.operators import SIZES
from hpcbench.predict.tables.sizes import invalid_sizes
from hpcbench.predict.time.families import families
from hpcbench.util.text import in_short_list, plural


def reasons(rows: pd.DataFrame, devices: Mapping[str, Device]) -> pd.Series:
    """Return why the time of each row cannot be predicted; empty if it can."""
    found = pd.Series("", index=rows.index, dtype="object")
    unknown_kind = families(rows) == ""
    found[unknown_kind] = "operator '" + _names(rows[unknown_kind]) + "' has no model"
    invalid = (found == "") & invalid_sizes(rows[list(SIZES)])
    found[invalid] = "the operator has FLOPs, bytes or a size that is negative or infinite"
    no_size = (found == "") & ~((rows["flops"] > 0) | (rows["bytes"] > 0))
    found[no_size] = "the operator has neither FLOPs nor bytes"
    no_dtype = (found == "") & rows["kind"].isin(MATRIX_KINDS) & ~rows["dtype"].isin(list(PRECISIONS))
    dtypes = "'" + rows["dtype"][no_dtype] + "'"
    found[no_dtype] = "matrix products in " + dtypes + " have no model: device descriptions have no rate for it"
    no_device = ~rows["device"].isin(list(devices))
    found[no_device] = "device '" + rows["device"][no_device] + "' has no description"
    return found


def _names(rows: pd.DataFrame) -> pd.Series:
    """Return the names of operators; their kinds if they have none."""
    return rows["function"].where(rows["function"] != "", rows["kind"])


def usable(rows: pd.DataFrame, devices: Mapping[str, Device]) -> tuple[pd.DataFrame, list[str]]:
    """Return the rows with a time that a fit can use, and a text for each kind of flaw with the number of its rows.

    `basis_of` counts the rows of devices without a description.
    """
    flaws = []
    timed = rows[rows["time_s"].notna() & rows["device"].isin(list(devices))]
    positive = timed["time_s"] > 0
    if not positive.all():
        flaws.append(
            f"{plural(int((~positive).sum()), 'row')} left out of the model of times (their time is zero or negative)"
        )
    timed = timed[positive]
    why = reasons(timed, devices)
    unknown = families(timed) == ""
    if unknown.any():
        names = in_short_list([f"'{name}'" for name in _names(timed[unknown]).unique()])
        flaws.append(
            f"{plural(int(unknown.sum()), 'row')} left out of the model of times (operators without a model: {names})"
        )
    flaws += [
        f"{plural(int(count), 'row')} left out of the model of times ({reason})"
        for reason, count in why[(why != "") & ~unknown].value_counts().items()
    ]
    kept = timed[why == ""].reset_index(drop=True)
    for slowed, why_slowed in (
        (at_lower_clock, "their clock is below the boost clock"),
        (lowered_power_limit, "their power limit is below that of other rows"),
    ):
        left_out = slowed(kept, devices)
        if left_out.any():
            flaws.append(f"{plural(int(left_out.sum()), 'row')} left out of the model of times ({why_slowed})")
        kept = kept[~left_out].reset_index(drop=True)
    return kept, flaws


def capped(rows: pd.DataFrame, most: int, seed: int = 0) -> np.ndarray:
    """Return which rows to keep: at most so many for each device, family and data type, chosen at random."""
    order = np.random.default_rng(seed).permutation(len(rows))
    shuffled = pd.DataFrame({"device": rows["device"], "family": families(rows), "dtype": rows["dtype"]}).iloc[order]
    place = np.empty(len(rows), dtype="int64")
    place[order] = shuffled.groupby(["device", "family", "dtype"], sort=False).cumcount().to_numpy()
    return np.asarray(place < most)
