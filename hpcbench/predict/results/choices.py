"""What a table of results recommends: the fastest device, the one with least energy, and the best state of each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from hpcbench.predict.choice.ratios import Candidate, RatioErrors
from hpcbench.predict.choice.recommendation import Limited, Recommendation, by_limit, recommend
from hpcbench.predict.results.table import ENERGY, FITS, FITS_NOT, TIME, limits_of


@dataclass(frozen=True)
class BestState:
    """The state of a device with least energy, with the ratios of its energy and of its time to the default state."""

    device: str
    state: str
    energy: float
    time: float


@dataclass(frozen=True)
class WithinLimit:
    """The devices and states by an upper limit of the time, and the one with least energy that keeps it.

    `best` is None if no candidate keeps the limit with certainty, or if none of them has an energy.
    """

    limit_s: float
    limited: Limited
    best: Recommendation | None


def candidates(rows: pd.DataFrame, quantity: str) -> list[Candidate]:
    """Return the candidates of a case: its rows of a table of results that have a value and fit the device's memory."""
    low, high = limits_of(quantity)
    known = rows[rows[quantity].notna() & (rows[FITS] != FITS_NOT)]
    return [
        Candidate(str(row["device"]), math.log(row[quantity]), _half_width(row[low], row[high]), str(row["state"]))
        for _, row in known.iterrows()
    ]


def _half_width(low: float, high: float) -> float:
    return math.log(high / low) / 2


def best_device(rows: pd.DataFrame, quantity: str, errors: RatioErrors | None = None) -> Recommendation | None:
    """Return which device, in its default state, has the lowest value for a case; None if no row has a value."""
    found = candidates(rows[rows["state"] == ""], quantity)
    return recommend(found, errors) if found else None


def best_states(rows: pd.DataFrame) -> list[BestState]:
    """Return the state of least energy of each device of a case, for devices with an energy in several states.

    States of one device share most errors of its prediction, so that their ratio has no interval of independent errors.
    """
    known = rows[rows[ENERGY].notna() & (rows[FITS] != FITS_NOT)]
    found = []
    for device, own in known.groupby("device", sort=False):
        usual = own[own["state"] == ""]
        if usual.empty or len(own) < 2:
            continue
        best, default = own.iloc[int(own[ENERGY].to_numpy().argmin())], usual.iloc[0]
        energy, time = float(best[ENERGY] / default[ENERGY]), float(best[TIME] / default[TIME])
        found.append(BestState(str(device), str(best["state"]), energy, time))
    return found


def within(rows: pd.DataFrame, limit_s: float, errors: RatioErrors | None = None) -> WithinLimit:
    """Return which devices and states keep an upper limit of the time, and the one of those with least energy."""
    limited = by_limit(candidates(rows, TIME), limit_s)
    keeping = {(each.device, each.state) for each in limited.within}
    energies = [each for each in candidates(rows, ENERGY) if (each.device, each.state) in keeping]
    return WithinLimit(limit_s, limited, recommend(energies, errors) if energies else None)


def by_case(results: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    """Return the rows of each case, in the order of the table."""
    return {str(case): rows for case, rows in results.groupby("case", sort=False)}
