"""Devices over all cases: how often each is best, how far it is from the best one, and how often it meets a limit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hpcbench.predict.choice.recommendation import Recommendation
from hpcbench.predict.results.choices import TIE, best_device, by_case, within
from hpcbench.predict.results.predictions import Predictions
from hpcbench.predict.results.table import ENERGY, FITS, FITS_NOT, PRICE, TIME

QUANTITIES = (TIME, ENERGY, PRICE)


@dataclass(frozen=True)
class Standing:
    """A device over all cases by one quantity.

    `lowest` counts the cases in which it has the lowest predicted value, and all others are at least 1 % above it.
    `conclusive` counts those of them in which the intervals of its ratios to all other devices are below 1. `ratio` is
    the geometric mean of its value over the lowest one of each case [1]; NaN if it is not predicted, or if the lowest
    one is 0.

    [1] P. Fleming and J. Wallace, "How not to lie with statistics", CACM 29(3), 1986.
    """

    lowest: int
    conclusive: int
    ratio: float


@dataclass(frozen=True)
class DeviceOverview:
    """A device over those cases that are predicted on all devices, by each of QUANTITIES.

    `does_not_fit` counts the cases that exceed its memory, of all cases.
    """

    device: str
    standings: Mapping[str, Standing]
    does_not_fit: int


@dataclass(frozen=True)
class LimitOverview:
    """A device over those cases that are predicted on all devices, by an upper limit of the time.

    `within` counts the cases in which its whole interval is within the limit. `lowest` counts those of them in which it
    needs least energy of the devices within the limit, in any of its states within it, and all others at least 1 %
    more. `conclusive` counts those of them in which the intervals of its ratios to all other devices within the limit
    are below 1, or in which it is the only one. `does_not_fit` is that of DeviceOverview.
    """

    device: str
    within: int
    lowest: int
    conclusive: int
    does_not_fit: int


def overview(predictions: Predictions) -> tuple[list[DeviceOverview], int]:
    """Return the devices of predictions in their default states, the fastest first, and the number of cases.

    Devices without any case are left out. Cases that a device lacks or that exceed its memory do not count. Without
    such cases, return no devices.
    """
    kept, too_large = _by_room(predictions)
    times = _complete(kept, TIME)
    if times.empty:
        return [], 0
    standings = {name: _standings(_complete(kept, name), name, predictions) for name in QUANTITIES}
    found = [
        DeviceOverview(
            str(device),
            {name: known.get(str(device), _UNKNOWN) for name, known in standings.items()},
            too_large[str(device)],
        )
        for device in times.columns
    ]
    return sorted(found, key=lambda each: each.standings[TIME].ratio), len(times)


def overview_within(predictions: Predictions, limit_s: float) -> tuple[list[LimitOverview], int]:
    """Return the devices of predictions by an upper limit of the time: the devices, order and cases of `overview`."""
    kept, too_large = _by_room(predictions)
    times = _complete(kept, TIME)
    if times.empty:
        return [], 0
    rows = predictions.results[predictions.results["case"].isin(times.index)]
    found = [
        within(own, limit_s, predictions.states, predictions.errors_of(own, ENERGY)) for own in by_case(rows).values()
    ]
    keeping = Counter(name for each in found for name in each.devices)
    won = [each.best for each in found if each.best is not None and each.is_complete and _is_alone(each.best)]
    lowest = Counter(best.best.device for best in won)
    conclusive = Counter(best.best.device for best in won if best.is_certain)
    names = map(str, _mean_ratios(times).sort_values(kind="stable").index)
    return [LimitOverview(name, keeping[name], lowest[name], conclusive[name], too_large[name]) for name in names], len(
        times
    )


def _is_alone(best: Recommendation) -> bool:
    """Return whether no other candidate has as low a value."""
    return all(other.ratio.value * TIE < 1.0 for other in best.others)


def _by_room(predictions: Predictions) -> tuple[pd.DataFrame, Counter[str]]:
    """Return the rows of default states that fit the memory of their device, and the number of others by device."""
    usual = predictions.results[predictions.results["state"] == ""]
    is_too_large = usual[FITS] == FITS_NOT
    return usual[~is_too_large], Counter(usual.loc[is_too_large, "device"])


_UNKNOWN = Standing(0, 0, math.nan)


def _standings(values: pd.DataFrame, quantity: str, predictions: Predictions) -> dict[str, Standing]:
    """Return the standing of each device with values, by case and device."""
    if values.empty:
        return {}
    winners, certain = _winners(values), _certain(list(values.index), quantity, predictions)
    ratios = _mean_ratios(values)
    counts = {str(device): [case for case, name in winners.items() if name == device] for device in values.columns}
    return {
        device: Standing(len(won), sum(certain[str(case)] for case in won), float(ratios[device]))
        for device, won in counts.items()
    }


def _certain(cases: Collection[str], quantity: str, predictions: Predictions) -> dict[str, bool]:
    """Return whether the device with the lowest value of each case is better than all others."""
    rows = predictions.results[predictions.results["case"].isin(list(cases))]
    best = {
        case: best_device(own, quantity, predictions.errors_of(own, quantity)) for case, own in by_case(rows).items()
    }
    return {case: found is not None and found.is_certain for case, found in best.items()}


def _complete(rows: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """Return the values by case and device, for cases with values on all devices that have any."""
    found = rows.pivot_table(index="case", columns="device", values=quantity, sort=False, dropna=False)
    return found.dropna(axis="columns", how="all").dropna()


def _mean_ratios(values: pd.DataFrame) -> pd.Series[float]:
    lowest = values.min(axis=1)
    ratios = values.div(lowest, axis=0).mask(values.eq(lowest, axis=0), 1.0)
    found = pd.Series(np.exp(np.log(ratios.to_numpy(dtype="float64")).mean(axis=0)), index=values.columns)
    return found.where(np.isfinite(found))


def _winners(values: pd.DataFrame) -> dict[str, str]:
    """Return the device of each case in which no other has as low a value."""
    lowest = values.le(TIE * values.min(axis=1), axis=0)
    return {str(case): str(device) for case, device in lowest[lowest.sum(axis=1) == 1].idxmax(axis=1).items()}
