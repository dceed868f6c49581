"""How the times of single steps are distributed: the empirical distribution function, and quantiles with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, stdtrit

from hpcbench.analysis.stats.intervals import (
    LEVEL,
    RESAMPLES,
    Floats,
    Interval,
    effective_size_of,
    fewest_samples,
    quantile_of_sorted,
)

MOST_POINTS = 200  # of a curve
QUANTILES = (0.5, 0.9, 0.99)


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

    The interval is between two order statistics, which assumes nothing of the distribution (Hahn and Meeker, 1991,
    "Statistical Intervals", section 5.2), of as many samples as those at hand are worth. The upper limit is infinite,
    and both are None, where none of these samples is high, or low, enough.
    """
    ordered = np.sort(np.concatenate(repetitions))
    return [
        Quantile(part, _interval(repetitions, ordered, part)) for part in parts if ordered.size >= fewest_samples(part)
    ]


def plausible_quantiles(repetitions: Sequence[Floats], part: float) -> Floats | None:
    """RESAMPLES values of which the middle 95 % are that interval; None where one of its limits is not known.

    The rank of the order statistic next below a quantile has a binomial distribution. Those of cases that are put
    beside each other have to be shuffled apart, as those of statistics.plausible_medians.
    """
    ordered = np.sort(np.concatenate(repetitions))
    size = effective_count(repetitions, part, quantile_of_sorted(ordered, part))
    low, high = order_limits(size, part)
    if low == 0 or high > size:
        return None
    below = np.concatenate([[0.0], bdtr(np.arange(size + 1), size, part)])
    ranks = np.interp((np.arange(RESAMPLES) + 0.5) / RESAMPLES, below, np.arange(size + 2))
    return _at(ordered, np.minimum(ranks, size), size)


def _interval(repetitions: Sequence[Floats], ordered: Floats, part: float) -> Interval:
    estimate = quantile_of_sorted(ordered, part)
    size = effective_count(repetitions, part, estimate)
    low, high = order_limits(size, part)
    if low == 0:
        return Interval(estimate, None, None)
    lower, upper = map(float, _at(ordered, np.array([low, high]), size))
    return Interval(estimate, min(lower, estimate), max(upper, estimate) if high <= size else math.inf)


def effective_count(repetitions: Sequence[Floats], part: float, quantile: float) -> int:
    """How many independent samples those of some repetitions are worth, for a quantile.

    At most as many as each is worth for itself. Where the parts of the repetitions that are below the quantile differ
    by more than chance, as many as would differ by that much; and fewer where few repetitions tell how much it is (Korn
    and Graubard, 1998, "Confidence intervals for proportions with small expected number of positive counts estimated
    from survey data", Survey Methodology 24; Woodruff, 1952, takes such intervals to quantiles, JASA 47).
    """
    size = sum(map(effective_size_of, repetitions))
    count = len(repetitions)
    if count == 1:
        return size
    samples = np.array([times.size for times in repetitions])
    below = np.array([np.count_nonzero(times <= quantile) for times in repetitions])
    apart = below - samples * below.sum() / samples.sum()
    variance = count / (count - 1) * float(apart @ apart) / float(samples.sum()) ** 2
    worth = min(size, part * (1 - part) / variance) if variance else size
    tail = (1 + LEVEL) / 2
    return max(1, int(worth * (stdtrit(samples.sum() - 1, tail) / stdtrit(count - 1, tail)) ** 2))


def order_limits(size: int, part: float) -> tuple[int, int]:
    """Ranks of two order statistics between which a quantile lies with 95 %; 0 and above `size` where none is low or
    high enough. Rank r is the largest with P(fewer than r of `size` lie below) at most 2.5 %, on each side."""
    below = bdtr(np.arange(size + 1), size, part)  # P(at most k of them lie below the quantile)
    tail = (1 - LEVEL) / 2
    return int(np.searchsorted(below, tail, side="right")), int(np.searchsorted(below, 1 - tail)) + 1


def _at(ordered: Floats, ranks: NDArray[Any], size: int) -> Floats:
    """The order statistics of these ranks among `size`, where that is not how many there are: those that have as much
    below them on average."""
    places = ranks * (ordered.size + 1) / (size + 1)
    values: Floats = np.interp(places, np.arange(1, ordered.size + 1), ordered)
    return values
