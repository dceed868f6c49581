"""Scores of predictions with intervals: errors in percent, coverage and width."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hpcbench.predict.tables import networks as network_table

ALL = "all"
_FEWEST_OF_DEVICE = 10  # rows of a device for its coverage to be the worst one


@dataclass(frozen=True)
class Score:
    """The score of one test: a quantity of a file, of all rows or some, on devices seen in the fit or not.

    `mape`, `median_ape` and `bias` are in percent of the measurement; `bias` is positive if predictions are too high.
    `coverage` is the fraction of the measurements in their intervals, `worst_coverage` that of the device with the
    lowest one, `width` the median of (upper - lower) / predicted. NaN means that there is nothing to compute it from.
    """

    file: str
    quantity: str
    part: str
    devices: str
    rows: int
    mape: float
    median_ape: float
    bias: float
    coverage: float
    worst_coverage: float
    width: float
    refused: int


def scores(scored: pd.DataFrame) -> list[Score]:
    """Return the scores of predictions joined with measurements, as of `measurements`, in the order of the files.

    Rows without a measurement do not count. A part of the rows has a score of its own if it is not all of them.
    """
    found = []
    rows = scored[scored["measured"].notna()]
    for (file, quantity, devices), group in _groups(rows):
        found.append(score(group, file, quantity, ALL, devices))
        for part, members in _parts(group):
            if 0 < members.sum() < len(group):
                found.append(score(group[members], file, quantity, part, devices))
    return found


def score(rows: pd.DataFrame, file: str, quantity: str, part: str, devices: str) -> Score:
    """Return the score of rows with a measurement."""
    answered = rows[rows["predicted"].notna()]
    measured, predicted = answered["measured"].to_numpy(), answered["predicted"].to_numpy()
    lower, upper = answered["lower"].to_numpy(), answered["upper"].to_numpy()
    error = 100 * (predicted / measured - 1)
    inside = pd.Series(((lower <= measured) & (measured <= upper)).astype("float64"), index=answered.index)
    inside[np.isnan(lower)] = np.nan
    by_device = inside.groupby(answered["device"]).agg(["mean", "count"])
    worst = by_device.loc[by_device["count"] >= _FEWEST_OF_DEVICE, "mean"].min()
    empty = answered.empty
    return Score(
        *(file, quantity, part, devices, len(answered)),
        mape=float("nan") if empty else float(np.mean(np.abs(error))),
        median_ape=float("nan") if empty else float(np.median(np.abs(error))),
        bias=float("nan") if empty else float(np.mean(error)),
        coverage=float(inside.mean()),
        worst_coverage=float(worst),
        width=float("nan") if empty else float(np.median((upper - lower) / predicted)),
        refused=len(rows) - len(answered),
    )


def _groups(rows: pd.DataFrame) -> Iterator[tuple[tuple[str, str, str], pd.DataFrame]]:
    """Yield the rows of each file, quantity, and group of devices."""
    devices = (rows["seen"] + " " + rows["vendor"]).str.strip()
    for (file, quantity, label), group in rows.groupby(["file", "quantity", devices], sort=False):
        yield (str(file), str(quantity), str(label)), group


def _parts(group: pd.DataFrame) -> Iterator[tuple[str, pd.Series]]:
    """Yield the parts of a group with their names, and which rows they have."""
    for column in ("kind", "phase", "dtype"):
        for value in sorted(set(group[column]) - {""}):
            yield str(value), group[column] == value
    yield "compiled", group["execution"] == network_table.COMPILED
    yield "new networks", group["is_new_network"]
    highest = group.groupby("device")["clock_mhz"].transform("max")
    yield "highest clock", group["clock_mhz"] == highest
