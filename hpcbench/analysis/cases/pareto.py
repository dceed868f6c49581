"""The Pareto front of time, energy and cost: the cases that no other case dominates.

A case is dominated if another is at least as good in all quantities and better in one (Kung, Luccio and Preparata,
1975, "On finding the maxima of a set of vectors", Journal of the ACM 22). Cases that are equal in all quantities do not
dominate each other.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.analysis.cases import cost
from hpcbench.analysis.cases.workloads import work_groups
from hpcbench.analysis.stats.intervals import Floats
from hpcbench.config.metrics import interval_columns

TIME, ENERGY, COST = "time", "energy", "cost"
QUANTITIES = (TIME, ENERGY, COST)
FRONT, MAYBE, DOMINATED = "front", "maybe", "dominated"

_MAX_QUANTITIES = len(QUANTITIES)
_OF_ITEMS = {ENERGY: cost.ENERGY, COST: cost.PRICE}
_OF_RUNS = {ENERGY: cost.ENERGY_OF_RUN, COST: cost.PRICE_OF_RUN}


def front(values: Floats) -> NDArray[np.bool_]:
    """Return a mask of the undominated rows of `values`, (cases, up to 3 quantities); less is better.

    A row with NaN is not on the front and dominates no row. The algorithm for three quantities is by Kung, Luccio and
    Preparata: in the order of the first quantity, only earlier rows can dominate, so each row is compared with the
    front of the earlier rows in the other two quantities.
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
    """A front in two quantities: points in rising order of the first, and so in falling order of the second."""

    rising: list[float]
    falling: list[float]

    def adds(self, one: float, other: float) -> bool:
        """Add a point and return True, unless a point of the front is at least as good in both coordinates."""
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

    A row is `dominated` if the upper limits of another row do not exceed its lower limits in any quantity. A row with
    an unknown limit is `maybe` unless it is on the front.
    """
    on_front, known = front(values), _known(values)
    rivals = np.flatnonzero(front(highs))  # if any row dominates for certain, so does one of these
    surely: NDArray[np.bool_] = np.zeros(len(values), dtype=bool)
    for rival in rivals:
        below = (highs[rival] <= lows).all(axis=1)
        below[rival] = False  # a row does not dominate itself, even if its limits are equal
        surely |= below
    words = np.where(on_front, FRONT, np.where(surely, DOMINATED, MAYBE)).tolist()
    return [word if there else None for word, there in zip(words, known.tolist(), strict=True)]


def pareto(cases: pd.DataFrame, wanted: Sequence[str] = QUANTITIES) -> pd.DataFrame:
    """Return for each case the columns `pareto`, the result of `marks`, and `pareto_of`, its quantities as `time+cost`.

    `cases` must have costs (cost.add_costs). Cases of the same workload, currency and energy scope are compared by
    those of the `wanted` quantities that any of them has, if these are two or more. Quantities are per item, or per run
    without items.
    """
    limits = {of_items: {name: _limits(cases, name, of_items) for name in wanted} for of_items in (True, False)}
    has_items = cases["items_per_step"].notna().to_numpy()
    marked, compared = np.full((2, len(cases)), None, dtype=object)
    for rows in _alike(cases, wanted):
        known = {name: each[:, rows] for name, each in limits[bool(has_items[rows].any())].items()}
        measured = {name: each for name, each in known.items() if not np.isnan(each[0]).all()}
        if len(measured) < 2:
            continue
        marked[rows] = marks(*np.stack([*measured.values()], axis=-1))
        compared[rows] = "+".join(measured)
    return pd.DataFrame({"pareto": marked, "pareto_of": compared}, index=cases.index, dtype=object)


def _alike(cases: pd.DataFrame, wanted: Sequence[str]) -> Iterator[NDArray[np.intp]]:
    """Yield the positions of measured cases with the same workload, currency and energy scope."""
    scopes = cases["energy_scope"].map(cost.scope_of_host, na_action="ignore")
    columns = {COST: cases["currency"], ENERGY: scopes}
    keys = [pd.factorize(columns[name])[0] for name in wanted if name in columns]  # -1 if missing
    for places in _places(work_groups(cases).to_numpy()).values():
        merged = [key[places] for key in keys if (key[places] >= 0).any()]
        codes = np.stack(merged, axis=-1) if merged else np.zeros((len(places), 1), dtype=np.intp)
        whole = (codes >= 0).all(axis=1)
        _, group = np.unique(codes[whole], axis=0, return_inverse=True)
        yield from (places[whole][rows] for rows in _places(group.reshape(-1)).values())


def _places(groups: NDArray[np.integer[Any]]) -> dict[int, NDArray[np.intp]]:
    """Return the positions of the members of each group by its number; members with a negative number are left out."""
    order = np.argsort(groups, kind="stable")
    numbers, starts = np.unique(groups[order], return_index=True)
    parts = zip(numbers, pairwise([*starts, len(order)]), strict=True)
    return {int(number): order[start:end] for number, (start, end) in parts if number >= 0}


def _limits(cases: pd.DataFrame, quantity: str, of_items: bool) -> Floats:
    """Return the quantity per item or per run, with its lower and upper limit, shape (3, cases)."""
    if quantity == TIME:
        times = cases[["time_median_s", "time_ci_low_s", "time_ci_high_s"]].astype(float)
        limits: Floats = times.div(cases["items_per_step"].astype(float).fillna(1.0), axis=0).to_numpy().T
        return limits
    column = (_OF_ITEMS if of_items else _OF_RUNS)[quantity]
    return cases[[column, *interval_columns(column)]].astype(float).to_numpy().T
