"""Devices over all cases: how often each is best, and how far it is from the best device on average."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from hpcbench.predict.results.table import ENERGY, FITS, FITS_NOT, TIME

_TIE = 1.01  # ratio of two values, up to which they count as equal


@dataclass(frozen=True)
class DeviceOverview:
    """A device over those cases that are predicted on all devices.

    `fastest` and `least_energy` count the cases in which it has the lowest predicted value, and all others are at least
    1 % above it. `time_ratio` and `energy_ratio` are geometric means of its value over the lowest one of each case [1];
    NaN if they are not predicted. `does_not_fit` counts the cases that exceed its memory, of all cases.

    [1] P. Fleming and J. Wallace, "How not to lie with statistics", CACM 29(3), 1986.
    """

    device: str
    fastest: int
    time_ratio: float
    least_energy: int
    energy_ratio: float
    does_not_fit: int


def overview(results: pd.DataFrame) -> tuple[list[DeviceOverview], int]:
    """Return the devices of a table of results in their default states, the fastest first, and the number of cases.

    Devices without any case are left out. Cases that a device lacks or that exceed its memory do not count. Without
    such cases, return no devices.
    """
    usual = results[results["state"] == ""]
    kept = usual[usual[FITS] != FITS_NOT]
    times = _complete(kept, TIME)
    if times.empty:
        return [], 0
    energies = _complete(kept, ENERGY)
    time_ratio, energy_ratio = _mean_ratios(times), _mean_ratios(energies).reindex(times.columns)
    fastest, least = _counts(times), _counts(energies)
    too_large = usual[usual[FITS] == FITS_NOT].groupby("device").size()
    found = [
        DeviceOverview(
            device=str(name),
            fastest=int(fastest.get(name, 0)),
            time_ratio=float(time_ratio[name]),
            least_energy=int(least.get(name, 0)),
            energy_ratio=float(energy_ratio[name]),
            does_not_fit=int(too_large.get(name, 0)),
        )
        for name in times.columns
    ]
    return sorted(found, key=lambda each: each.time_ratio), len(times)


def _complete(rows: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """Return the values by case and device, for cases with values on all devices that have any."""
    found = rows.pivot_table(index="case", columns="device", values=quantity, sort=False, dropna=False)
    return found.dropna(axis="columns", how="all").dropna()


def _mean_ratios(values: pd.DataFrame) -> pd.Series[float]:
    logarithms = np.log(values.div(values.min(axis=1), axis=0).to_numpy(dtype="float64"))
    means = logarithms.mean(axis=0) if values.size else np.full(len(values.columns), np.nan)
    return pd.Series(np.exp(means), index=values.columns)


def _counts(values: pd.DataFrame) -> pd.Series[int]:
    """Return the cases of each device in which no other has as low a value."""
    lowest = values.le(_TIE * values.min(axis=1), axis=0)
    return lowest[lowest.sum(axis=1) == 1].sum()
