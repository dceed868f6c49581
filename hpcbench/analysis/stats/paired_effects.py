"""How much faster one value of a parameter is than another: the median ratio over pairs of cases equal in all else."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import bdtr

from hpcbench.analysis.stats.factor_levels import Codes, Factor
from hpcbench.analysis.stats.intervals import (
    FEWEST_TO_RESAMPLE,
    LEVEL,
    Floats,
    Interval,
    exponential,
    median_interval,
    median_of,
    quantile_of_sorted,
)
from hpcbench.analysis.stats.two_samples import ratio_of_medians


class Effect(NamedTuple):
    """Over so many pairs, the value `faster` is by `ratio` (1 and more) faster than the value `slower`.

    The interval is that of the median of the pairs' ratios, and of a single pair that of its ratio.
    """

    faster: Any
    slower: Any
    ratio: Interval
    pairs: int

    @property
    def is_sure(self) -> bool:
        return self.ratio.low is not None and self.ratio.low > 1


class Contrast(NamedTuple):
    """By how much the value `to` is faster than the value `since` beside one value of another parameter, and another.

    `gain` and `other_gain` are median ratios: below 1 where it is slower.
    """

    factor: Factor
    since: Any
    to: Any
    other: Factor
    beside: Any
    gain: float
    beside_other: Any
    other_gain: float


def costs_of(values: Sequence[Floats]) -> Floats:
    """The logarithm of each case's median over its repetitions; not a number where that is 0, which has no ratios."""
    medians = np.array([median_of(each) for each in values])
    return np.log(np.where(medians > 0, medians, np.nan))


def effects(costs: Floats, values: Sequence[Floats], alike: Codes, factor: Factor) -> list[Effect]:
    """The effects of each two levels, the largest first.

    `values` holds what the repetitions of each case took, `costs` is what costs_of makes of them, and `alike` has the
    same number for cases that are equal in all but this factor.
    """
    grid = _grid(costs, alike, factor)
    found = []
    for since, to, logs in _pairs(grid):
        if logs.size == 1:
            both = np.unique(alike)[~np.isnan(grid[:, since] - grid[:, to])]
            members = [np.flatnonzero((alike == both[0]) & (factor.codes == level)) for level in (since, to)]
            before, after = (np.concatenate([values[place] for place in places.tolist()]) for places in members)
            ratio = Interval(*ratio_of_medians(after, before)[:3])
        else:
            ratio = interval_of_ratios(logs)
        found.append(_towards_faster(Effect(factor.levels[to], factor.levels[since], ratio, logs.size)))
    return sorted(found, key=lambda effect: -effect.ratio.estimate)


def _towards_faster(effect: Effect) -> Effect:
    """The same with a ratio of at least 1."""
    estimate, low, high = effect.ratio
    if estimate >= 1:
        return effect
    turned = Interval(
        _inverse(estimate), None if high is None else _inverse(high), None if low is None else _inverse(low)
    )
    return Effect(effect.slower, effect.faster, turned, effect.pairs)


def _inverse(value: float) -> float:
    return 1 / value if value else math.inf


def interval_of_ratios(logs: Floats) -> Interval:
    """The median ratio, from logarithms, with its 95 % interval.

    Of six and more that is between two of their own, counted by the binomial distribution, and assumes nothing
    (Conover, 1999, "Practical Nonparametric Statistics", section 3.2); of fewer there is no such interval of 95 %, and
    it is that of statistics.py.
    """
    ordered = np.sort(logs)
    if ordered.size < FEWEST_TO_RESAMPLE:
        return median_interval([np.array([exponential(log)]) for log in ordered.tolist()])
    outside = _outside(ordered.size)
    middle = quantile_of_sorted(ordered, 0.5)
    return Interval(exponential(middle), exponential(ordered[outside]), exponential(ordered[-1 - outside]))


def _outside(size: int) -> int:
    """How many order statistics to leave out at either end, so that the others hold the median 95 times in 100."""
    chances = bdtr(np.arange(size // 2 + 1), size, 0.5)  # that so many or fewer lie below it
    return int(np.searchsorted(chances, (1 - LEVEL) / 2, side="right")) - 1


def largest_contrast(costs: Floats, alike: Codes, factor: Factor, other: Factor) -> Contrast | None:
    """Where what a factor does depends most on another one; None where no two pairs can be compared."""
    grid = _grid(costs, alike, factor)
    beside = _beside(alike, other)
    found: dict[tuple[int, int], list[tuple[float, int]]] = {}
    for level in range(len(other.levels)):
        for since, to, logs in _pairs(grid[beside == level]):
            found.setdefault((since, to), []).append((float(np.median(logs)), level))
    best = max(found.items(), key=lambda item: max(item[1])[0] - min(item[1])[0], default=None)
    if best is None or len(best[1]) < 2:
        return None
    (since, to), gains = best
    (more, at), (less, at_other) = max(gains), min(gains)
    if more + less < 0:  # read the other way round, it is faster
        since, to, more, less, at, at_other = to, since, -less, -more, at_other, at
    where = other.levels[at], exponential(more), other.levels[at_other], exponential(less)
    return Contrast(factor, factor.levels[since], factor.levels[to], other, *where)


def _grid(costs: Floats, alike: Codes, factor: Factor) -> Floats:
    """A row for each set of cases that are equal in all but the factor, a column for each of its levels."""
    by_both = pd.Series(costs).groupby([alike, factor.codes]).median().unstack()
    grid: Floats = by_both.reindex(columns=range(len(factor.levels))).to_numpy(dtype=np.float64)
    return grid


def _beside(alike: Codes, other: Factor) -> Codes:
    """The level of another factor in each row of the grid."""
    level: Codes = other.codes[np.unique(alike, return_index=True)[1]]
    return level


def _pairs(grid: Floats) -> Iterator[tuple[int, int, Floats]]:
    """Two levels, and by what each row of the grid that has both says that the second is faster, as a logarithm."""
    for since in range(grid.shape[1]):
        for to in range(since + 1, grid.shape[1]):
            logs = grid[:, since] - grid[:, to]
            logs = logs[~np.isnan(logs)]
            if logs.size:
                yield since, to, logs
