"""Median, its interval, and percentiles.

The interval is that of the median over runs: repetitions are fresh processes, and only they are independent. What it
is made of depends on how many there are:

- six and more: a two-stage bootstrap (Davison and Hinkley, 1997, "Bootstrap Methods and their Application",
  section 3.8): repetitions are drawn with replacement, and within each its samples. The inner stage needs no drawing of
  samples: the median of a bootstrap sample is an order statistic whose rank can be drawn directly (Efron, 1982, "The
  Jackknife, the Bootstrap and Other Resampling Plans", section 10.2). Of autocorrelated samples, only as many are drawn
  as they are worth (see autocorrelation.py).
- two to five: a bootstrap cannot know more than it has seen, and would be far too narrow; no order-statistic interval
  of 95 % exists below six. Student's t on the logarithms of the repetitions' medians is wide, and honest about it.
- one: the samples of that run alone, by the inner stage. It says nothing about the next run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from hpcbench.analysis.stats.autocorrelation import effective_size

LEVEL = 0.95
RESAMPLES = 1000
FEWEST_TO_RESAMPLE = 6
_SEED = 20210611

Floats = NDArray[np.float64]


class Interval(NamedTuple):
    """An estimate with its confidence limits; they are None where a single sample gives none, and may be infinite."""

    estimate: float
    low: float | None
    high: float | None

    def scaled(self, factor: float) -> Interval:
        """Of the quantity times a constant above 0."""
        low, high = (None if limit is None else limit * factor for limit in (self.low, self.high))
        return Interval(self.estimate * factor, low, high)

    def rate(self, of: float) -> Interval:
        """How many of so many are done in a second, of a time above 0: the longest gives the lower limit, and one of 0
        none."""
        low, high = (of / limit if limit else None for limit in (self.high, self.low))
        return Interval(of / self.estimate, low, high)


def effective_size_of(samples: Floats) -> int:
    """How many independent samples those of a repetition are worth, which are in the order of time."""
    return round(effective_size(samples, median_of(samples))) if samples.size else 0


def median_interval(repetitions: Sequence[Floats], sizes: Sequence[int] | None = None) -> Interval:
    """The median of the repetitions' medians, with its interval.

    `repetitions` holds the samples of each repetition in the order of time, of any number above 0; `sizes` what
    effective_size_of says of each, where that is known already.
    Raises ValueError where there is no sample, or one is not a number.
    """
    ordered = _ordered(repetitions)
    centres = _centres(ordered)
    estimate = quantile_of_sorted(centres, 0.5)
    if len(ordered) == 1 and ordered[0].size == 1:
        return Interval(estimate, None, None)
    if 1 < len(ordered) < FEWEST_TO_RESAMPLE:
        return _student_interval(centres, estimate)
    return _middle_of(_bootstrapped(ordered, _sizes(repetitions) if sizes is None else sizes), estimate)


def interval_of_values(values: Sequence[float]) -> Interval:
    """The median of values of which each repetition gave one, with its interval, as median_interval has it.

    From six on, resampling needs no samples here: which two of the sorted values are in the middle of a resample does
    not depend on what they are.
    """
    if len(values) < FEWEST_TO_RESAMPLE:
        return median_interval([np.array([value]) for value in values])
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    if math.isnan(ordered[-1]):
        raise ValueError("a value is not a number")
    lower, upper = _middle_ranks(len(values))
    return _middle_of((ordered[lower] + ordered[upper]) / 2, quantile_of_sorted(ordered, 0.5))


def plausible_medians(repetitions: Sequence[Floats], sizes: Sequence[int] | None = None) -> Floats | None:
    """RESAMPLES values of which the middle 95 % are the interval of the median; None where it has none.

    Of other repetitions, as many and as large, they come in the same order: what puts two sets beside each other has to
    shuffle them.
    """
    ordered = _ordered(repetitions)
    if len(ordered) == 1 and ordered[0].size == 1:
        return None
    if 1 < len(ordered) < FEWEST_TO_RESAMPLE:
        return _student_medians(_centres(ordered))
    return _bootstrapped(ordered, _sizes(repetitions) if sizes is None else sizes)


def _middle_of(resampled: Floats, estimate: float) -> Interval:
    ordered, tail = np.sort(resampled), (1 - LEVEL) / 2
    return Interval(estimate, quantile_of_sorted(ordered, tail), quantile_of_sorted(ordered, 1 - tail))


def _sizes(repetitions: Sequence[Floats]) -> list[int]:
    return [effective_size_of(np.asarray(samples, dtype=np.float64)) for samples in repetitions]


def _ordered(repetitions: Sequence[Floats]) -> list[Floats]:
    series = [np.sort(np.asarray(samples, dtype=np.float64)) for samples in repetitions]
    if not series or any(samples.size == 0 for samples in series):
        raise ValueError("an interval needs at least one sample in each repetition")
    if any(math.isnan(samples[-1]) for samples in series):  # where sorting puts them
        raise ValueError("a sample is not a number")
    return series


def _centres(ordered: list[Floats]) -> Floats:
    """The repetitions' medians, sorted."""
    return np.sort([quantile_of_sorted(samples, 0.5) for samples in ordered])


def _bootstrapped(ordered: list[Floats], sizes: Sequence[int]) -> Floats:
    """The two-stage bootstrap's; of each repetition's sorted samples as many are drawn as `sizes` says."""
    columns = [_bootstrap_medians(*drawn) for drawn in zip(ordered, sizes, range(len(ordered)), strict=True)]
    return columns[0] if len(columns) == 1 else _resampled(columns)


def _resampled(columns: list[Floats]) -> Floats:
    """Medians of repetitions that are drawn with replacement, each with one of its own resampled medians."""
    count = len(columns)
    chosen = np.column_stack(columns)[_inner_rows(count), _draws(count)]
    chosen.sort(axis=1)  # of so few each, in a third of the time that numpy.median takes
    medians: Floats = (chosen[:, (count - 1) // 2] + chosen[:, count // 2]) / 2
    return medians


def _student_interval(centres: Floats, estimate: float) -> Interval:
    """Student's t interval of the mean of the logarithms, turned back: of the median, where runs are log-normal."""
    if centres[0] <= 0:
        return Interval(estimate, None, None)
    centre, error = _centre_and_error(centres)
    half = float(stdtrit(centres.size - 1, (1 + LEVEL) / 2)) * error
    return Interval(estimate, min(estimate, exponential(centre - half)), max(estimate, exponential(centre + half)))


def _student_medians(centres: Floats) -> Floats | None:
    """Evenly spaced quantiles of what that interval is made of."""
    if centres[0] <= 0:
        return None
    centre, error = _centre_and_error(centres)
    with np.errstate(over="ignore"):  # as in exponential
        medians: Floats = np.exp(centre + error * _student_quantiles(centres.size - 1))
    return medians


@lru_cache(maxsize=64)
def _student_quantiles(freedom: int) -> Floats:
    quantiles: Floats = stdtrit(freedom, (np.arange(RESAMPLES) + 0.5) / RESAMPLES)
    return quantiles


def _centre_and_error(centres: Floats) -> tuple[float, float]:
    """Of the logarithms: their mean, and its standard error."""
    logs = np.log(centres)
    return float(logs.mean()), float(logs.std(ddof=1)) / math.sqrt(logs.size)


def exponential(logarithm: float) -> float:
    """Infinite where it is larger than any number: so wide is the interval of values that lie far apart."""
    try:
        return math.exp(logarithm)
    except OverflowError:
        return math.inf


def percentiles(samples: Floats, quantiles: Iterable[float]) -> list[float | None]:
    """Quantiles of the samples; None for one that they give no upper confidence limit of (see fewest_samples)."""
    ordered = np.sort(samples)
    return [quantile_of_sorted(ordered, each) if ordered.size >= fewest_samples(each) else None for each in quantiles]


@lru_cache(maxsize=64)
def fewest_samples(quantile: float) -> int:
    """How many samples it takes until the largest lies above the quantile with a probability of LEVEL.

    Of n independent samples it does with probability 1 - quantile ** n, whatever their distribution (Wilks, 1941,
    "Determination of sample sizes for setting tolerance limits"; Hahn and Meeker, 1991, "Statistical Intervals",
    chapter 5). At 95 % that makes 5, 29, 59, 299 and 2,995 samples for p50, p90, p95, p99 and p99.9. The usual
    demand, 1 / (1 - quantile), is only that one sample lies above on average: with 20 samples, the true p95 is beyond
    all of them 36 times in 100. Samples of one run are not quite independent: this is the least, and no guarantee.
    """
    return math.ceil(math.log(1 - LEVEL) / math.log(quantile))


def median_of(samples: Floats) -> float:
    return quantile_of_sorted(np.sort(samples), 0.5)


def quantile_of_sorted(ordered: Floats, quantile: float) -> float:
    """Linear interpolation between order statistics (Hyndman and Fan, 1996, definition 7), as numpy.quantile does.

    Its checks would cost more than a report of ten thousand cases can spend.
    """
    position = (ordered.size - 1) * quantile
    below = int(position)
    above = min(below + 1, ordered.size - 1)
    return float(ordered[below] + (ordered[above] - ordered[below]) * (position - below))


def _bootstrap_medians(ordered: Floats, size: int, column: int) -> Floats:
    """Medians of RESAMPLES bootstrap samples, each of `size` of the sorted samples."""
    lower, upper = _middle(ordered.size, size, column)
    medians: Floats = (ordered[lower] + ordered[upper]) / 2
    return medians


@lru_cache(maxsize=512)
def _middle(samples: int, size: int, column: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Which of the sorted samples are the two in the middle of a resample of `size` (one, where it is odd), RESAMPLES
    times.

    A uniform number u picks the sample of rank floor(n u). The k-th smallest of n uniform numbers is Beta(k,
    n - k + 1); of the n - k above it, the next is the smallest of that many uniform numbers on what is left.
    """
    generator = np.random.default_rng([_SEED, size, column])
    middle = (size + 1) // 2
    first = generator.beta(middle, size - middle + 1, RESAMPLES)
    lower = np.minimum((first * samples).astype(np.intp), samples - 1)
    if size % 2:
        return lower, lower
    above = size - middle
    second = 1 - (1 - first) * (1 - generator.random(RESAMPLES)) ** (1 / above)
    return lower, np.minimum((second * samples).astype(np.intp), samples - 1)


@lru_cache(maxsize=64)
def _draws(repetitions: int) -> NDArray[np.intp]:
    generator = np.random.default_rng([_SEED, repetitions])
    return generator.integers(0, repetitions, size=(RESAMPLES, repetitions))


@lru_cache(maxsize=64)
def _middle_ranks(repetitions: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The ranks of the two middle values of each resample; equal where there is an odd number of them."""
    ranks = np.sort(_draws(repetitions), axis=1)
    return ranks[:, (repetitions - 1) // 2], ranks[:, repetitions // 2]


@lru_cache(maxsize=64)
def _inner_rows(repetitions: int) -> NDArray[np.intp]:
    """Where to take the inner draw from, so that a repetition drawn twice gets two different ones."""
    shifts = np.arange(repetitions) * (RESAMPLES // repetitions if repetitions <= RESAMPLES else 1)
    rows: NDArray[np.intp] = (np.arange(RESAMPLES)[:, None] + shifts[None, :]) % RESAMPLES
    return rows
