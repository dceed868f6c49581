"""Bootstrap replicates of the medians of cases, for the intervals of quantities that are computed from medians.

A speedup, an efficiency or the parameter of a law is computed once per replicate, of all cases that it depends on. Its
interval is the middle 95 % of the results (Efron and Tibshirani, 1993, "An Introduction to the Bootstrap", section
13.3). The replicates are the values from which stats/intervals.py derives the interval of the median: bootstrapped
medians, or for two to five runs quantiles of Student's t. So a speedup needs no assumption beyond those of its
two times.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.analysis.cases.case_table import EFFECTIVE, Cases, Row, valid_rows
from hpcbench.analysis.cases.quantities import TIME, Quantity
from hpcbench.analysis.stats.intervals import LEVEL, RESAMPLES, Floats, Interval, plausible_medians
from hpcbench.analysis.stats.quantiles import PERCENTILES, plausible_quantiles
from hpcbench.core.samples import SAMPLES

Key = tuple[str, str]  # name of the sweep and id of the case
_KEPT = 1024  # arrays of 8 kB
_SEED = 19791101


class Replicates:
    """Bootstrap replicates per case of a table of runs grouped by by_case, computed on demand and cached."""

    def __init__(self, cases: Cases) -> None:
        self._cases = cases
        self._made = lru_cache(maxsize=_KEPT)(self._make)

    def of(self, case: Key, quantity: Quantity = TIME) -> Floats | None:
        """Return RESAMPLES bootstrap replicates of a quantity of a case, by default the median time in seconds.

        Return None without values, and for a single value, whose spread is unknown. All cases use the same draws:
        shuffle them (see shuffled) before combining cases.
        """
        return self._made(case, quantity)

    def repetitions(self, case: Key) -> list[Row]:
        """Return the valid runs of a case."""
        return valid_rows(self._cases.get(case, []))

    def _make(self, case: Key, quantity: Quantity) -> Floats | None:
        return _medians(self.repetitions(case), quantity)

    def ratio(self, upper: Key, lower: Key, estimate: float, quantity: Quantity = TIME) -> Interval:
        """Return the ratio `upper` / `lower` of two cases, `estimate` by their medians, with its interval."""
        above, below = self.of(upper, quantity), self.of(lower, quantity)
        if above is None or below is None or not below.min() > 0:
            return Interval(estimate, None, None)
        return interval_of(estimate, above / shuffled(below, 1))


def shuffled(replicates: Floats, place: int) -> Floats:
    """Return replicates in the random order of seed `place`. Use a different `place` for each case to be combined."""
    return replicates[_order(place)]


@lru_cache(maxsize=_KEPT)
def _order(place: int) -> NDArray[np.intp]:
    return np.random.default_rng([_SEED, place]).permutation(RESAMPLES)


def interval_of(estimate: float, replicates: Floats) -> Interval:
    """Return the middle 95 % of the replicates, which may be infinite, widened to contain the estimate."""
    outside = int(replicates.size * (1 - LEVEL) / 2)
    ordered = np.partition(replicates, [outside, replicates.size - 1 - outside])
    return Interval(estimate, min(float(ordered[outside]), estimate), max(float(ordered[-1 - outside]), estimate))


def _medians(repetitions: list[Row], quantity: Quantity) -> Floats | None:
    """Return replicates of the median or percentile of the measurements, or of the median of one value per run."""
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
