"""The distribution of step times: the empirical distribution function, and quantiles with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hpcbench.analysis.stats.distributions import binomial_cdf, student_quantile
from hpcbench.analysis.stats.intervals import (
    LEVEL,
    RESAMPLES,
    Floats,
    Interval,
    effective_size_of,
    minimum_samples,
    quantile_of_sorted,
)

MAX_POINTS = 200  # points of a curve
QUANTILES = (0.5, 0.9, 0.99)


class Quantile(NamedTuple):
    """A quantile of the step time with its interval, in seconds."""

    part: float
    interval: Interval


# Quantiles in the tables of a report, by column.
PERCENTILES = {"time_p50_s": 0.5, "time_p90_s": 0.9, "time_p95_s": 0.95, "time_p99_s": 0.99, "time_p999_s": 0.999}


def short_name(column: str) -> str:
    """Return `p99.9` for `time_p999_s`."""
    return f"p{100 * PERCENTILES[column]:g}"


def curve(repetitions: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Return sorted times and their cumulative fractions, at most MAX_POINTS points at evenly spaced ranks."""
    ordered = np.sort(np.concatenate(repetitions))
    places = np.unique(np.linspace(0, ordered.size - 1, min(ordered.size, MAX_POINTS)).round().astype(np.intp))
    return ordered[places], (places + 1) / ordered.size


def quantiles(repetitions: Sequence[Floats], parts: Sequence[float] = QUANTILES) -> list[Quantile]:
    """Return quantiles of the pooled samples, omitting those with too few samples (minimum_samples).

    The interval is between two order statistics, without assumptions (Hahn and Meeker, 1991, "Statistical Intervals",
    section 5.2), for the effective number of samples. The upper limit is infinite if its rank exceeds the number of
    samples; both are None if the lower rank is 0.
    """
    ordered = np.sort(np.concatenate(repetitions))
    return [
        Quantile(part, _interval(repetitions, ordered, part)) for part in parts if ordered.size >= minimum_samples(part)
    ]


def plausible_quantiles(repetitions: Sequence[Floats], part: float) -> Floats | None:
    """Return RESAMPLES values whose middle 95 % are the interval of a quantile; None if a limit is unknown.

    The number of samples below a quantile is binomial. Shuffle the values before combining cases (see
    bootstrap_replicates).
    """
    ordered = np.sort(np.concatenate(repetitions))
    size = effective_count(repetitions, part, quantile_of_sorted(ordered, part))
    low, high = order_limits(size, part)
    if low == 0 or high > size:
        return None
    below = np.concatenate([[0.0], binomial_cdf(size, part)])
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
    """Return the effective number of samples of some runs, for a quantile.

    It is at most the sum over the runs. If the fractions below the quantile vary more between runs than
    by chance, it is the number of independent samples with the same variance, reduced for few runs (Korn and
    Graubard, 1998, "Confidence intervals for proportions with small expected number of positive counts estimated from
    survey data", Survey Methodology 24; Woodruff, 1952, JASA 47, for quantiles).
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
    many, few = (student_quantile(freedom, (1 + LEVEL) / 2) for freedom in (int(samples.sum()) - 1, count - 1))
    return max(1, int(worth * (many / few) ** 2))


def order_limits(size: int, part: float) -> tuple[int, int]:
    """Return the ranks of the order statistics that are the 95 % limits of a quantile; 0 or `size` + 1 if none is.

    The lower rank r is the largest with P(fewer than r of `size` lie below) at most 2.5 %; the upper one is analogous.
    """
    below = binomial_cdf(size, part)  # P(at most k of them lie below the quantile)
    tail = (1 - LEVEL) / 2
    return int(np.searchsorted(below, tail, side="right")), int(np.searchsorted(below, 1 - tail)) + 1


def _at(ordered: Floats, ranks: NDArray[Any], size: int) -> Floats:
    """Return the values at ranks among `size` samples, interpolated since `ordered` may have more than `size`."""
    places = ranks * (ordered.size + 1) / (size + 1)
    values: Floats = np.interp(places, np.arange(1, ordered.size + 1), ordered)
    return values
