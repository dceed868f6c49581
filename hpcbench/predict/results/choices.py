"""What a table of results recommends: the fastest device, the one with least energy, and the best state of each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from hpcbench.predict.choice.ratios import Candidate, Ratio, RatioErrors
from hpcbench.predict.choice.recommendation import ByLimit, Recommendation, by_limit, recommend
from hpcbench.predict.choice.states import KERNELS, LAUNCHES, StateErrors, state_ratio
from hpcbench.predict.results.table import ENERGY, FITS, FITS_NOT, LAUNCH_BOUND, TIME, limits_of

CLOCK, POWER_LIMIT = "clock", "power limit"  # what a state sets
TIE = 1.01  # ratio of two values, up to which they count as equal
_SETTINGS = {CLOCK: "clock_mhz", POWER_LIMIT: "power_limit_w"}


@dataclass(frozen=True)
class BestState:
    """The clock, or the power limit, of a device with least energy, compared with its default state.

    `setting` is CLOCK or POWER_LIMIT, and `state` empty if the default state needs least energy. `energy` is the ratio
    of its energy to that of the default state, with interval, and `time` that of its time.
    """

    device: str
    setting: str
    state: str
    energy: Ratio
    time: float

    @property
    def is_certain(self) -> bool:
        """Return whether the state needs less energy than the default state."""
        return self.energy.is_below_one


@dataclass(frozen=True)
class WithinLimit:
    """The devices and states by an upper limit of the time, and the one with least energy that meets it.

    `best` compares the best states of the devices; it is None if no candidate has its whole interval within the limit,
    or if none of these has an energy. `state` compares the best state with the default state of its device, if they
    differ.
    """

    limit_s: float
    limited: ByLimit
    best: Recommendation | None
    state: BestState | None = None

    @property
    def devices(self) -> frozenset[str]:
        """Return the devices that meet the limit in at least one state."""
        return frozenset(each.device for each in self.limited.within)

    @property
    def is_complete(self) -> bool:
        """Return whether `best` compares all devices that meet the limit, since all of them have an energy."""
        return self.best is not None and len(self.best.others) + 1 == len(self.devices)

    @property
    def is_only_known(self) -> bool:
        """Return whether `best` is not compared at all, since the other devices within the limit have no energy."""
        return self.best is not None and not self.best.others and not self.is_complete


def candidates(rows: pd.DataFrame, quantity: str) -> list[Candidate]:
    """Return the candidates of a case: its rows of a table of results that have a value and fit the device's memory.

    The logarithm of a price of 0 is minus infinity.
    """
    low, high = limits_of(quantity)
    known = rows[rows[quantity].notna() & (rows[FITS] != FITS_NOT)]
    return [
        Candidate(str(row["device"]), _log(row[quantity]), _half_width(row[low], row[high]), str(row["state"]))
        for _, row in known.iterrows()
    ]


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _half_width(low: float, high: float) -> float:
    return math.log(high / low) / 2 if low > 0 else 0.0


def best_device(rows: pd.DataFrame, quantity: str, errors: RatioErrors | None = None) -> Recommendation | None:
    """Return which device, in its default state, has the lowest value for a case; None if no row has a value."""
    found = candidates(rows[rows["state"] == ""], quantity)
    return recommend(found, errors) if found else None


def limited_by_host(rows: pd.DataFrame) -> tuple[str, ...]:
    """Return the devices with the lowest time of a case, if there are several and the host limits it on all of them.

    Otherwise, return an empty tuple. The devices are in their default state and in the order of their times, which
    exceed the lowest one by at most 1 %.
    """
    usual = rows[(rows["state"] == "") & rows[TIME].notna() & (rows[FITS] != FITS_NOT)]
    tied = usual[usual[TIME] <= TIE * usual[TIME].min()].sort_values(TIME, kind="stable")
    by_host = len(tied) > 1 and bool((tied["limit"] == LAUNCH_BOUND).all())
    return tuple(map(str, tied["device"])) if by_host else ()


def best_states(rows: pd.DataFrame, errors: StateErrors) -> list[BestState]:
    """Return the clock and the power limit of least energy of each device of a case, among those predicted."""
    known = rows[rows[ENERGY].notna() & (rows[FITS] != FITS_NOT)]
    found = []
    for _, own in known.groupby("device", sort=False):
        usual = own[own["state"] == ""].head(1)
        for setting, column in _SETTINGS.items():
            searched = own[own[column].notna()]
            if len(usual) and len(searched):
                tried = pd.concat([usual, searched])
                best = tried.iloc[int(tried[ENERGY].to_numpy().argmin())]
                found.append(_compared(best, usual.iloc[0], setting, errors))
    return found


def _compared(state: pd.Series[Any], usual: pd.Series[Any], setting: str, errors: StateErrors) -> BestState:
    """Return a state compared with the default state of its device."""
    name, device = str(state["state"]), str(usual["device"])
    if not name:
        return BestState(device, setting, "", Ratio(1.0, 1.0, 1.0), 1.0)
    pairs = [(float(each[TIME]), float(each[ENERGY])) for each in (state, usual)]
    group = LAUNCHES if usual["limit"] == LAUNCH_BOUND else KERNELS
    energy = state_ratio(pairs[0], pairs[1], device, group, errors)
    return BestState(device, setting, name, energy, pairs[0][0] / pairs[1][0])


def within(rows: pd.DataFrame, limit_s: float, states: StateErrors, errors: RatioErrors | None = None) -> WithinLimit:
    """Return which devices and states meet an upper limit of the time, and the one of those with least energy."""
    limited = by_limit(candidates(rows, TIME), limit_s)
    keeping = {(each.device, each.state) for each in limited.within}
    best: dict[str, Candidate] = {}
    for each in candidates(rows, ENERGY):
        if (each.device, each.state) in keeping and each.log_value < best.get(each.device, _NOTHING).log_value:
            best[each.device] = each
    if not best:
        return WithinLimit(limit_s, limited, None)
    found = recommend(list(best.values()), errors)
    return WithinLimit(limit_s, limited, found, _of_candidate(rows, found.best, states))


_NOTHING = Candidate("", math.inf, 0.0)


def _of_candidate(rows: pd.DataFrame, best: Candidate, states: StateErrors) -> BestState | None:
    """Return a candidate compared with the default state of its device; None if it is that state."""
    own = rows[rows["device"] == best.device]
    state, usual = own[own["state"] == best.state].iloc[0], own[own["state"] == ""]
    if not best.state or usual.empty:
        return None
    setting = CLOCK if pd.notna(state["clock_mhz"]) else POWER_LIMIT
    return _compared(state, usual.iloc[0], setting, states)


def by_case(results: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    """Return the rows of each case, in the order of the table."""
    return {str(case): rows for case, rows in results.groupby("case", sort=False)}
