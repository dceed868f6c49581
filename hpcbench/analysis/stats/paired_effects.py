"""The effect of one parameter value relative to another: the median ratio over pairs of otherwise equal cases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hpcbench.analysis.stats.distributions import binomial_cdf
from hpcbench.analysis.stats.factor_levels import Codes, Factor
from hpcbench.analysis.stats.intervals import (
    LEVEL,
    MIN_TO_RESAMPLE,
    Floats,
    Interval,
    exponential,
    median_interval,
    quantile_of_sorted,
)
from hpcbench.analysis.stats.two_samples import ratio_of_medians


class Effect(NamedTuple):
    """The level `better` is `ratio` times, at least 1, better than the level `worse`, over `pairs` pairs of cases.

    The interval is that of the median ratio over the pairs, or of the ratio of a single pair.
    """

    better: Any
    worse: Any
    ratio: Interval
    pairs: int

    @property
    def is_significant(self) -> bool:
        """Return whether the lower limit of the ratio is above 1."""
        return self.ratio.low is not None and self.ratio.low > 1


class Contrast(NamedTuple):
    """The gain of the value `to` over `since` at two values of another parameter.

    `gain` is the median ratio at `given`, `other_gain` the one at `other_given`; below 1 means slower.
    """

    factor: Factor
    since: Any
    to: Any
    other: Factor
    given: Any
    gain: float
    other_given: Any
    other_gain: float


def effects(
    costs: Floats, values: Sequence[Floats], alike: Codes, factor: Factor, *, rises: bool = False
) -> list[Effect]:
    """Return the effect of each pair of levels, the largest first.

    `values` are those of the runs of each case; larger values are better if `rises`. `costs` are logarithms of
    the values of the cases; smaller is better. `alike` is equal for cases that differ at most in this factor.
    """
    grid = _grid(costs, alike, factor)
    found = []
    for since, to, logs in _pairs(grid):
        if logs.size == 1:
            both = np.unique(alike)[~np.isnan(grid[:, since] - grid[:, to])]
            members = [np.flatnonzero((alike == both[0]) & (factor.codes == level)) for level in (since, to)]
            before, after = (np.concatenate([values[place] for place in places.tolist()]) for places in members)
            ratio = _of_a_pair(float(logs[0]), *((before, after) if rises else (after, before)))
        else:
            ratio = interval_of_ratios(logs)
        found.append(_towards_better(Effect(factor.levels[to], factor.levels[since], ratio, logs.size)))
    return sorted(found, key=lambda effect: -effect.ratio.estimate)


def _of_a_pair(log: float, base: Floats, new: Floats) -> Interval:
    """Return the ratio exp(`log`) of two cases, with the CI of NEW / BASE of their runs if all values are positive."""
    estimate = exponential(log)
    if min(base.min(), new.min()) <= 0:
        return Interval(estimate, None, None)
    _, low, high, *_ = ratio_of_medians(base, new)
    return Interval(
        estimate, None if low is None else min(low, estimate), None if high is None else max(high, estimate)
    )


def _towards_better(effect: Effect) -> Effect:
    """Return the effect with a ratio of at least 1."""
    estimate, low, high = effect.ratio
    if estimate >= 1:
        return effect
    turned = Interval(
        _inverse(estimate), None if high is None else _inverse(high), None if low is None else _inverse(low)
    )
    return Effect(effect.worse, effect.better, turned, effect.pairs)


def _inverse(value: float) -> float:
    return 1 / value if value else math.inf


def interval_of_ratios(logs: Floats) -> Interval:
    """Return the median of the ratios exp(`logs`) with its 95 % CI.

    From six ratios on, the limits are order statistics by the binomial distribution, without assumptions (Conover,
    1999, "Practical Nonparametric Statistics", section 3.2). For fewer, this interval does not exist, and
    median_interval is used. The median of an even number of ratios is the geometric mean of the middle two: inverse
    ratios then have the inverse median.
    """
    ordered = np.sort(logs)
    middle = exponential(quantile_of_sorted(ordered, 0.5))
    if ordered.size < MIN_TO_RESAMPLE:
        _, low, high = median_interval([np.array([exponential(log)]) for log in ordered.tolist()])
        return Interval(middle, None if low is None else min(low, middle), None if high is None else max(high, middle))
    outside = _outside(ordered.size)
    return Interval(middle, exponential(ordered[outside]), exponential(ordered[-1 - outside]))


def _outside(size: int) -> int:
    """Return how many order statistics lie outside the 95 % CI of the median, at each end."""
    chances = binomial_cdf(size, 0.5)[: size // 2 + 1]  # P(at most k of `size` lie below the median)
    return int(np.searchsorted(chances, (1 - LEVEL) / 2, side="right")) - 1


def largest_contrast(costs: Floats, alike: Codes, factor: Factor, other: Factor) -> Contrast | None:
    """Return the contrast of levels for which the effect of a factor depends most on `other`; None without pairs."""
    grid = _grid(costs, alike, factor)
    given = _level_given(alike, other)
    found: dict[tuple[int, int], list[tuple[float, int]]] = {}
    for level in range(len(other.levels)):
        for since, to, logs in _pairs(grid[given == level]):
            found.setdefault((since, to), []).append((float(np.median(logs)), level))
    best = max(found.items(), key=lambda item: max(item[1])[0] - min(item[1])[0], default=None)
    if best is None or len(best[1]) < 2:
        return None
    (since, to), gains = best
    (more, at), (less, at_other) = max(gains), min(gains)
    if more + less < 0:  # swap the levels, so that the larger effect is a gain
        since, to, more, less, at, at_other = to, since, -less, -more, at_other, at
    where = other.levels[at], exponential(more), other.levels[at_other], exponential(less)
    return Contrast(factor, factor.levels[since], factor.levels[to], other, *where)


def _grid(costs: Floats, alike: Codes, factor: Factor) -> Floats:
    """Return the median costs with a row per set of otherwise equal cases and a column per level of the factor."""
    by_both = pd.Series(costs).groupby([alike, factor.codes]).median().unstack()
    grid: Floats = by_both.reindex(columns=range(len(factor.levels))).to_numpy(dtype=np.float64)
    return grid


def _level_given(alike: Codes, other: Factor) -> Codes:
    """Return the level of another factor in each row of the grid."""
    level: Codes = other.codes[np.unique(alike, return_index=True)[1]]
    return level


def _pairs(grid: Floats) -> Iterator[tuple[int, int, Floats]]:
    """Yield each pair of levels with the logarithms of the gain of the second in the rows that have both."""
    for since in range(grid.shape[1]):
        for to in range(since + 1, grid.shape[1]):
            logs = grid[:, since] - grid[:, to]
            logs = logs[~np.isnan(logs)]
            if logs.size:
                yield since, to, logs
