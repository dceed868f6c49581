"""The effective number of independent samples in an autocorrelated run.

Consecutive samples are correlated, for example while the clock frequency ramps. The median of n such samples is as
uncertain as the median of n / tau independent ones. Here tau is the sum of the autocorrelation, over all lags, of the
signs: whether a sample is above the median (Gastwirth and Rubin, 1975, "The behavior of robust estimators on dependent
data", Annals of Statistics 3). Signs are robust to heavy tails.

Intervals with this effective sample size cover the median more often than a circular block bootstrap with automatic
block lengths (Politis and White, 2004; Patton, Politis and White, 2009): see `make bench-comparing`. Both are too
narrow if a run has fewer than about 30 tau samples, which do not cover its slow changes: only more runs help.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

CRITICAL = 1.6449  # quantile of the standard normal, one-sided at 5 %
Floats = NDArray[np.float64]
Signs = NDArray[np.bool_]


def effective_size(samples: Floats, median: float) -> float:
    """Return the number of independent samples whose median is as certain as that of `samples`, in the order of time.

    It is the number of samples unless a runs test finds autocorrelation, and never more: negative autocorrelation is
    not used.
    """
    signs = samples > median
    if runs_score(signs) <= CRITICAL:
        return float(samples.size)
    return samples.size / correlation_time(signs)


def runs_score(signs: Signs) -> float:
    """Return the z-score of the runs test, positive if runs of equal signs are too few; 0 if undefined.

    Wald and Wolfowitz, 1940, "On a test whether two samples are from the same population", Annals of Mathematical
    Statistics 11.
    """
    above = int(np.count_nonzero(signs))
    pairs = 2 * above * (signs.size - above)
    if pairs <= signs.size:
        return 0.0
    runs = 1 + int(np.count_nonzero(signs[1:] != signs[:-1]))
    mean = 1 + pairs / signs.size
    variance = pairs * (pairs - signs.size) / (signs.size**2 * (signs.size - 1))
    return (mean - runs) / math.sqrt(variance)


def correlation_time(signs: Signs) -> float:
    """Return the sum of the autocorrelations over all lags, negative ones included, at least 1.

    Initial monotone sequence estimator (Geyer, 1992, "Practical Markov chain Monte Carlo", Statistical Science 7,
    section 3.3): correlations are summed in pairs while a pair is positive, and no pair may exceed the one before.
    """
    correlations = _autocorrelation(signs.astype(np.float64))
    pairs = correlations[: signs.size // 2 * 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0)
    initial = pairs[: negative[0]] if negative.size else pairs
    return max(1.0, 2 * float(np.minimum.accumulate(initial).sum()) - 1)


def _autocorrelation(series: Floats) -> Floats:
    """Return the autocorrelation at lags 0 to n - 1, by a zero-padded Fourier transform of a power of two."""
    length = 2 << series.size.bit_length()
    transformed = np.fft.rfft(series - series.mean(), length)
    covariance = np.fft.irfft(transformed * transformed.conj(), length)[: series.size]
    correlation: Floats = covariance / covariance[0]
    return correlation
