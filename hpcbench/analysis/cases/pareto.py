"""The Pareto front of time, energy and cost: the cases that no other case beats in one without losing in another.

A case is dominated where another is as good or better in all quantities, and better in one (Kung, Luccio and
Preparata, 1975, "On finding the maxima of a set of vectors", Journal of the ACM 22). Cases that are equal in all of
them are all on the front.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.analysis.cases import cost
from hpcbench.analysis.cases.case_table import work_groups
from hpcbench.analysis.stats.intervals import Floats
from hpcbench.config.metrics import interval_columns

TIME, ENERGY, COST = "time", "energy", "cost"
QUANTITIES = (TIME, ENERGY, COST)
FRONT, MAYBE, DOMINATED = "front", "maybe", "dominated"

_MAX_QUANTITIES = len(QUANTITIES)
_OF_ITEMS = {ENERGY: cost.ENERGY, COST: cost.PRICE}
_OF_RUNS = {ENERGY: cost.ENERGY_OF_RUN, COST: cost.PRICE_OF_RUN}


def front(values: Floats) -> NDArray[np.bool_]:
    """Return which rows of `values`, (cases, quantities), no other row dominates. Less is better; at most 3 quantities.

    Rows with an unknown value are neither on the front nor dominate. Algorithm for three quantities by Kung, Luccio and
    Preparata: rows in the order of the first quantity, where only earlier rows can dominate, against a staircase of the
    other two.
    """
    known = _known(values)
    distinct, place = np.unique(values[known], axis=0, return_inverse=True)
    padded = np.pad(distinct, ((0, 0), (_MAX_QUANTITIES - values.shape[1], 0)))
    stairs = _Stairs([], [])
    undominated = np.array([stairs.adds(second, third) for _, second, third in padded.tolist()], dtype=bool)
    found = np.zeros(len(values), dtype=bool)
    found[known] = undominated[place.reshape(-1)]
    return found


def _known(values: Floats) -> NDArray[np.bool_]:
    return np.asarray(~np.isnan(values).any(axis=1))


class _Stairs(NamedTuple):
    """Points that do not dominate each other: one coordinate rising, the other falling."""

    rising: list[float]
    falling: list[float]

    def adds(self, one: float, other: float) -> bool:
        """Add a point, and return True, unless a point of the stairs is at least as good in both coordinates."""
        before = bisect_right(self.rising, one)
        if before and self.falling[before - 1] <= other:
            return False
        start = end = bisect_left(self.rising, one)
        while end < len(self.falling) and self.falling[end] >= other:
            end += 1
        self.rising[start:end], self.falling[start:end] = [one], [other]
        return True


def marks(values: Floats, lows: Floats, highs: Floats) -> list[str | None]:
    """Return `front`, `dominated`, `maybe` (dominated, but perhaps by noise) or None (unknown) for each row.

    A row is `dominated` if another row has upper limits that are not above its lower limits, in every quantity. If a
    limit is unknown, it is `maybe`.
    """
    on_front, known = front(values), _known(values)
    rivals = np.flatnonzero(front(highs))  # whoever dominates for sure has upper limits no lower than some of these
    surely: NDArray[np.bool_] = np.zeros(len(values), dtype=bool)
    for rival in rivals:
        below = (highs[rival] <= lows).all(axis=1)
        below[rival] = False  # whose limits are one
        surely |= below
    words = np.where(on_front, FRONT, np.where(surely, DOMINATED, MAYBE)).tolist()
    return [word if there else None for word, there in zip(words, known.tolist(), strict=True)]


def pareto(cases: pd.DataFrame, wanted: Sequence[str] = QUANTITIES) -> pd.DataFrame:
    """Return `pareto`, as `marks` has it, and `pareto_of`, the quantities as `time+cost`, for each case.

    `cases` have their costs (cost.add_costs). Cases are compared if they have the same workload, currency and energy
    scope, by those of the `wanted` quantities that any of them has, if these are two or more. Quantities are per item,
    or per run without items.
    """
    found = pd.DataFrame({"pareto": None, "pareto_of": None}, index=cases.index, dtype=object)
    for rows in _alike(cases, wanted):
        measured = {name: each for name in wanted if not np.isnan((each := _limits(rows, name))[0]).all()}
        if len(measured) < 2:
            continue
        found.loc[rows.index, "pareto"] = pd.Series(marks(*np.stack([*measured.values()], axis=-1)), rows.index)
        found.loc[rows.index, "pareto_of"] = "+".join(measured)
    return found


def _alike(cases: pd.DataFrame, wanted: Sequence[str]) -> Iterator[pd.DataFrame]:
    """Yield the measured cases that can be compared. Some may have a price, or an energy, that others lack."""
    keys = {COST: cases["currency"], ENERGY: cases["energy_scope"].map(cost.scope_of_host, na_action="ignore")}
    works = work_groups(cases)
    for _, works_alike in cases.groupby(works[works >= 0], sort=False):
        merged = [keys[name][works_alike.index] for name in wanted if name in keys]
        merged = [each for each in merged if each.notna().any()]
        if merged:
            yield from (rows for _, rows in works_alike.groupby(merged, sort=False))
        else:
            yield works_alike


def _limits(rows: pd.DataFrame, quantity: str) -> Floats:
    """Return the quantity with its lower and upper limit, (3, cases)."""
    of_items = rows["items_per_step"].notna().any()
    if quantity == TIME:
        times = rows[["time_median_s", "time_ci_low_s", "time_ci_high_s"]].astype(float)
        limits: Floats = times.div(rows["items_per_step"].astype(float).fillna(1.0), axis=0).to_numpy().T
        return limits
    column = (_OF_ITEMS if of_items else _OF_RUNS)[quantity]
    return rows[[column, *interval_columns(column)]].astype(float).to_numpy().T
