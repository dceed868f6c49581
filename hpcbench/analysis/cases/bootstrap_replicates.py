"""What the median of a case could as well have been: from these follow the intervals of what is made of medians.

A speedup, an efficiency, the parameter of a law are computed once for each value, of all cases that go in, and the
interval is where the middle 95 % of the results lie (Efron and Tibshirani, 1993, "An Introduction to the Bootstrap",
section 13.3). The values are those that statistics.py makes the interval of a median of: bootstrapped medians; of two
to five repetitions, what Student's t takes them for. So a speedup assumes no more than the two times in it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.analysis.cases.case_table import EFFECTIVE, Cases, Row, speaking
from hpcbench.analysis.cases.latency import PERCENTILES
from hpcbench.analysis.cases.quantities import TIME, Quantity
from hpcbench.analysis.stats.intervals import LEVEL, RESAMPLES, Floats, Interval, plausible_medians
from hpcbench.analysis.stats.quantiles import plausible_quantiles
from hpcbench.core.samples import SAMPLES

Key = tuple[str, str]  # a case: its sweep and its id
_KEPT = 1024  # of 8 kB each
_SEED = 19791101


class Replicates:
    """Of the cases of a table of repetitions, as by_case groups it; made when asked for, and the last ones kept."""

    def __init__(self, cases: Cases) -> None:
        self._cases = cases
        self._made = lru_cache(maxsize=_KEPT)(self._make)

    def of(self, case: Key, quantity: Quantity = TIME) -> Floats | None:
        """RESAMPLES values of the time of a case, or of a quantity of which each repetition has one value; None where
        there is nothing, or a single value, of which no spread is known. Those of cases that are put beside each other
        have to be shuffled apart: they come from the same draws."""
        return self._made(case, quantity)

    def repetitions(self, case: Key) -> list[Row]:
        """Those that speak for a case."""
        return speaking(self._cases.get(case, []))

    def _make(self, case: Key, quantity: Quantity) -> Floats | None:
        return _medians(self.repetitions(case), quantity)

    def ratio(self, upper: Key, lower: Key, estimate: float, quantity: Quantity = TIME) -> Interval:
        """What one case has over what another has, of which the medians' ratio is known already."""
        above, below = self.of(upper, quantity), self.of(lower, quantity)
        if above is None or below is None or not below.min() > 0:
            return Interval(estimate, None, None)
        return interval_of(estimate, above / shuffled(below, 1))


def shuffled(replicates: Floats, place: int) -> Floats:
    """In an order that belongs to a place: of cases that are put beside each other, each has a place of its own."""
    return replicates[_order(place)]


@lru_cache(maxsize=_KEPT)
def _order(place: int) -> NDArray[np.intp]:
    return np.random.default_rng([_SEED, place]).permutation(RESAMPLES)


def interval_of(estimate: float, replicates: Floats) -> Interval:
    """The middle 95 % of the values, of which some may be infinite, widened to hold the estimate."""
    outside = int(replicates.size * (1 - LEVEL) / 2)
    ordered = np.partition(replicates, [outside, replicates.size - 1 - outside])
    return Interval(estimate, min(float(ordered[outside]), estimate), max(float(ordered[-1 - outside]), estimate))


def _medians(repetitions: list[Row], quantity: Quantity) -> Floats | None:
    """Of what each repetition has measured: its samples, or the one value that it has of anything but times."""
    if quantity == TIME:
        timed = [row for row in repetitions if row[SAMPLES].size]
        return plausible_medians([row[SAMPLES] for row in timed], [row[EFFECTIVE] for row in timed]) if timed else None
    part = PERCENTILES.get(quantity.column)
    if part is not None:
        times = [row[SAMPLES] for row in repetitions if row[SAMPLES].size]
        return plausible_quantiles(times, part) if times else None
    column = quantity.measured_as or quantity.column
    values = [row[column] for row in repetitions if pd.notna(row[column])]
    return plausible_medians([np.array([value], dtype=np.float64) for value in values]) if values else None
