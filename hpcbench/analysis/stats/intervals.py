"""Medians with intervals, and percentiles.

Intervals are of the median over runs, which are independent since each is a fresh process. The method depends on
their number:

- six and more: a two-stage bootstrap (Davison and Hinkley, 1997, "Bootstrap Methods and their Application", section
3.8): runs are drawn with replacement, and within each its samples. The inner stage does not resample: the median
of a bootstrap sample is an order statistic whose rank can be drawn directly (Efron, 1982, "The Jackknife, the Bootstrap
and Other Resampling Plans", section 10.2). For autocorrelated samples, the sample size is the effective number (see
autocorrelation.py).

- two to five: a bootstrap interval would be far too narrow, and a 95 % order-statistic interval requires six. Student's
  t on the logarithms of the runs' medians is wide enough.

- one: the inner stage alone, on the samples of that run. The interval does not describe other runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hpcbench.analysis.stats.autocorrelation import effective_size
from hpcbench.analysis.stats.distributions import student_quantile

LEVEL = 0.95
RESAMPLES = 1000
MIN_TO_RESAMPLE = 6
_SEED = 20210611

Floats = NDArray[np.float64]


class Interval(NamedTuple):
    """An estimate with its 95 % confidence limits, which may be infinite, or None if they cannot be computed."""

    estimate: float
    low: float | None
    high: float | None

    def scaled(self, factor: float) -> Interval:
        """Return the interval of the quantity multiplied by a positive constant."""
        low, high = (None if limit is None else limit * factor for limit in (self.low, self.high))
        return Interval(self.estimate * factor, low, high)

    def rate(self, of: float) -> Interval:
        """Return the interval of the rate `of` / time; the time must be above 0 s. A limit of 0 s gives None."""
        low, high = (of / limit if limit else None for limit in (self.high, self.low))
        return Interval(of / self.estimate, low, high)


def effective_size_of(samples: Floats) -> int:
    """Return the effective number of samples of a run; `samples` must be in the order of time."""
    return round(effective_size(samples, median_of(samples))) if samples.size else 0


def median_interval(repetitions: Sequence[Floats], sizes: Sequence[int] | None = None) -> Interval:
    """Return the median of the runs' medians, with its interval.

    `repetitions` holds the samples of each run in the order of time, `sizes` the effective_size_of each, if
    computed. Raise ValueError if a run has no sample, or a sample is NaN.
    """
    ordered = _ordered(repetitions)
    centres = _centres(ordered)
    estimate = quantile_of_sorted(centres, 0.5)
    if len(ordered) == 1 and ordered[0].size == 1:
        return Interval(estimate, None, None)
    if 1 < len(ordered) < MIN_TO_RESAMPLE:
        return _student_interval(centres, estimate)
    return _middle_of(_bootstrapped(ordered, _sizes(repetitions) if sizes is None else sizes), estimate)


def interval_of_values(values: Sequence[float]) -> Interval:
    """Return the median of one value per run, with the interval of median_interval. Raise ValueError for NaN.

    From six values on, the ranks of the middle values of a resample are cached: they do not depend on the values.
    """
    if len(values) < MIN_TO_RESAMPLE:
        return median_interval([np.array([value]) for value in values])
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    if math.isnan(ordered[-1]):
        raise ValueError("a value is not a number")
    lower, upper = _middle_ranks(len(values))
    return _middle_of((ordered[lower] + ordered[upper]) / 2, quantile_of_sorted(ordered, 0.5))


def plausible_medians(repetitions: Sequence[Floats], sizes: Sequence[int] | None = None) -> Floats | None:
    """Return RESAMPLES values whose middle 95 % are the interval of median_interval; None if it has no interval.

    Results for equal numbers of runs and sizes use the same draws: shuffle them before combining two.
    """
    ordered = _ordered(repetitions)
    if len(ordered) == 1 and ordered[0].size == 1:
        return None
    if 1 < len(ordered) < MIN_TO_RESAMPLE:
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
        raise ValueError("an interval requires at least one measurement in each run")
    if any(math.isnan(samples[-1]) for samples in series):  # sorting puts NaN last
        raise ValueError("a measurement is not a number")
    return series


def _centres(ordered: list[Floats]) -> Floats:
    """Return the sorted medians of the runs."""
    return np.sort([quantile_of_sorted(samples, 0.5) for samples in ordered])


def _bootstrapped(ordered: list[Floats], sizes: Sequence[int]) -> Floats:
    """Return RESAMPLES medians of the two-stage bootstrap, with the given number of samples per run."""
    columns = [_bootstrap_medians(*drawn) for drawn in zip(ordered, sizes, range(len(ordered)), strict=True)]
    return columns[0] if len(columns) == 1 else _resampled(columns)


def _resampled(columns: list[Floats]) -> Floats:
    """Return medians over runs drawn with replacement, each represented by one of its resampled medians."""
    count = len(columns)
    chosen = np.column_stack(columns)[_inner_rows(count), _draws(count)]
    chosen.sort(axis=1)  # for short rows, three times as fast as numpy.median
    medians: Floats = (chosen[:, (count - 1) // 2] + chosen[:, count // 2]) / 2
    return medians


def _student_interval(centres: Floats, estimate: float) -> Interval:
    """Return the back-transformed t interval of the mean logarithm, that of the median if runs are log-normal."""
    if centres[0] <= 0:
        return Interval(estimate, None, None)
    centre, error = _centre_and_error(centres)
    half = student_quantile(centres.size - 1, (1 + LEVEL) / 2) * error
    return Interval(estimate, min(estimate, exponential(centre - half)), max(estimate, exponential(centre + half)))


def _student_medians(centres: Floats) -> Floats | None:
    """Return evenly spaced quantiles of the distribution of _student_interval."""
    if centres[0] <= 0:
        return None
    centre, error = _centre_and_error(centres)
    with np.errstate(over="ignore"):  # overflow gives infinity, as in exponential()
        medians: Floats = np.exp(centre + error * _student_quantiles(centres.size - 1))
    return medians


@lru_cache(maxsize=64)
def _student_quantiles(freedom: int) -> Floats:
    return np.array([student_quantile(freedom, (rank + 0.5) / RESAMPLES) for rank in range(RESAMPLES)])


def _centre_and_error(centres: Floats) -> tuple[float, float]:
    """Return the mean of the logarithms and its standard error."""
    logs = np.log(centres)
    return float(logs.mean()), float(logs.std(ddof=1)) / math.sqrt(logs.size)


def exponential(logarithm: float) -> float:
    """Return exp(logarithm); infinity instead of an overflow."""
    try:
        return math.exp(logarithm)
    except OverflowError:
        return math.inf


def percentiles(samples: Floats, quantiles: Iterable[float]) -> list[float | None]:
    """Return quantiles of the samples; None for a quantile with fewer than minimum_samples samples."""
    ordered = np.sort(samples)
    return [quantile_of_sorted(ordered, each) if ordered.size >= minimum_samples(each) else None for each in quantiles]


@lru_cache(maxsize=64)
def minimum_samples(quantile: float) -> int:
    """Return the smallest number of samples whose largest exceeds the quantile with probability LEVEL.

    For n independent samples the probability is 1 - quantile ** n, for any distribution (Wilks, 1941, "Determination of
    sample sizes for setting tolerance limits"; Hahn and Meeker, 1991, "Statistical Intervals", chapter 5). At 95 %
    these are 5, 29, 59, 299 and 2,995 samples for p50, p90, p95, p99 and p99.9. The common rule 1 / (1 - quantile) only
    ensures that one sample exceeds it on average: with 20 samples, all are below the true p95 with probability 36 %.
    Samples of one run are not fully independent, so this is a lower bound.
    """
    return math.ceil(math.log(1 - LEVEL) / math.log(quantile))


def median_of(samples: Floats) -> float:
    """Return the median of samples."""
    return quantile_of_sorted(np.sort(samples), 0.5)


def quantile_of_sorted(ordered: Floats, quantile: float) -> float:
    """Return a quantile by linear interpolation between order statistics (Hyndman and Fan, 1996, definition 7).

    It equals numpy.quantile, whose checks are too slow for reports of 10,000 cases.
    """
    position = (ordered.size - 1) * quantile
    below = int(position)
    above = min(below + 1, ordered.size - 1)
    return float(ordered[below] + (ordered[above] - ordered[below]) * (position - below))


def _bootstrap_medians(ordered: Floats, size: int, column: int) -> Floats:
    """Return medians of RESAMPLES bootstrap samples, each of `size` of the sorted samples."""
    lower, upper = _middle(ordered.size, size, column)
    medians: Floats = (ordered[lower] + ordered[upper]) / 2
    return medians


@lru_cache(maxsize=512)
def _middle(samples: int, size: int, column: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the indices of the two middle sorted samples of RESAMPLES resamples of `size`; equal for an odd size.

    A uniform number u selects the sample of rank floor(n u). The k-th smallest of n uniform numbers is Beta(k, n - k +
    1); the next one is the minimum of n - k uniform numbers on the interval above it.
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
    """Return the ranks of the two middle values of each resample; equal for an odd number of values."""
    ranks = np.sort(_draws(repetitions), axis=1)
    return ranks[:, (repetitions - 1) // 2], ranks[:, repetitions // 2]


@lru_cache(maxsize=64)
def _inner_rows(repetitions: int) -> NDArray[np.intp]:
    """Return the row of the inner draw per outer draw, so that a run drawn twice gets two different ones."""
    shifts = np.arange(repetitions) * (RESAMPLES // repetitions if repetitions <= RESAMPLES else 1)
    rows: NDArray[np.intp] = (np.arange(RESAMPLES)[:, None] + shifts[None, :]) % RESAMPLES
    return rows
