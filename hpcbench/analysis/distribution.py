"""How the times of single steps are distributed: the empirical distribution function, and quantiles with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import bdtr

from hpcbench.analysis.statistics import (
    LEVEL,
    Floats,
    Interval,
    effective_size_of,
    fewest_samples,
    median_interval,
    quantile_of_sorted,
)

MOST_POINTS = 200  # of a curve
QUANTILES = (0.5, 0.9, 0.99)
_ROUNDING = 1e-6  # of a rank: 7 / 25 * 25 is more than 7


class Quantile(NamedTuple):
    part: float
    interval: Interval


def curve(repetitions: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Times, and the part of all samples that are no longer; of many samples, evenly spaced ones and both ends."""
    ordered = np.sort(np.concatenate(repetitions))
    places = np.unique(np.linspace(0, ordered.size - 1, min(ordered.size, MOST_POINTS)).round().astype(np.intp))
    return ordered[places], (places + 1) / ordered.size


def quantiles(repetitions: Sequence[Floats], parts: Sequence[float] = QUANTILES) -> list[Quantile]:
    """Of all samples together, as far as there are enough of them (statistics.fewest_samples).

    The interval is that of the repetitions' own quantiles, since only repetitions are independent; of a single one that
    between two order statistics, which assumes nothing of the distribution (Hahn and Meeker, 1991, "Statistical
    Intervals", section 5.2), of as many samples as its autocorrelated ones are worth.
    """
    ordered = np.sort(np.concatenate(repetitions))
    found = []
    for part in parts:
        if ordered.size >= fewest_samples(part):
            estimate = quantile_of_sorted(ordered, part)
            found.append(Quantile(part, _interval(repetitions, ordered, part, estimate)))
    return found


def _interval(repetitions: Sequence[Floats], ordered: Floats, part: float, estimate: float) -> Interval:
    if len(repetitions) == 1:
        low, high = order_limits(effective_size_of(repetitions[0]), part)
        if low == 0:
            return Interval(estimate, None, None)
        limits = (_at(ordered, low), _at(ordered, high) if high <= 1 else math.inf)
    else:
        own = [np.array([quantile_of_sorted(np.sort(samples), part)]) for samples in repetitions]
        interval = median_interval(own)
        if interval.low is None or interval.high is None:
            return Interval(estimate, None, None)
        limits = (interval.low, interval.high)
    return Interval(estimate, min(limits[0], estimate), max(limits[1], estimate))


def order_limits(size: int, part: float) -> tuple[float, float]:
    """Ranks of two order statistics between which a quantile lies with 95 %, over `size`; 0 and above 1 where none is
    low or high enough. Rank r is the largest with P(fewer than r of `size` lie below) at most 2.5 %, on each side."""
    below = bdtr(np.arange(size + 1), size, part)  # P(at most k of them lie below the quantile)
    tail = (1 - LEVEL) / 2
    low = int(np.searchsorted(below, tail, side="right"))
    high = int(np.searchsorted(below, 1 - tail)) + 1
    return low / size, high / size


def _at(ordered: Floats, part: float) -> float:
    """The order statistic of this rank, where the samples count as fewer."""
    rank = math.ceil(part * ordered.size - _ROUNDING)
    return float(ordered[min(max(rank, 1), ordered.size) - 1])
