"""Probabilities and quantiles of the normal, Student's t, Fisher's F and the binomial distribution."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from hpcbench.analysis.stats.incomplete_beta import beta_power, incomplete_beta

_STANDARD = NormalDist()
_CLOSE = 1e-5  # the last step of Halley's method: the error after it is of the order of its cube
_MOST_STEPS = 100


def normal_cdf(value: float) -> float:
    """Return the probability that a standard normal variable is at most `value`."""
    return math.erfc(-value / math.sqrt(2)) / 2


def normal_quantile(probability: float) -> float:
    """Return a quantile of the standard normal distribution (Wichura, 1988, algorithm AS 241)."""
    return _STANDARD.inv_cdf(probability)


def student_tail(freedom: float, value: float) -> float:
    """Return the probability that Student's t is above `value`, which is at least 0 (Abramowitz and Stegun, 26.7.1)."""
    return incomplete_beta(freedom / 2, 0.5, *_fractions(freedom, value * value)) / 2


@lru_cache(maxsize=4096)
def student_quantile(freedom: float, probability: float) -> float:
    """Return a quantile of Student's t with at least one degree of freedom; NaN if that is NaN.

    Halley's method solves for the logarithm of the tail as a function of the logarithm of t, which is nearly a straight
    line far out. The start is the expansion around the normal quantile (Abramowitz and Stegun, 26.7.5). Raise
    ArithmeticError if it does not converge.
    """
    if math.isnan(freedom):
        return math.nan
    tail = min(probability, 1 - probability)
    z = -normal_quantile(tail)
    value = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    step = 0.0 if tail == 0.5 else math.inf
    for _ in range(_MOST_STEPS):
        if abs(step) < _CLOSE:
            return math.copysign(value, probability - 0.5)
        x, y = _fractions(freedom, value * value)
        above = incomplete_beta(freedom / 2, 0.5, x, y) / 2
        slope = beta_power(freedom / 2, 0.5, x, y) / above
        newton = math.log(above / tail) / slope
        step = newton / (1 + newton / 2 * (slope + 1 - (freedom + 1) * y))
        value *= math.exp(step)
    raise ArithmeticError(f"the quantile {probability:g} of Student's t({freedom:g}) does not converge")


def f_tail(numerator: float, denominator: float, value: float) -> float:
    """Return the probability that F with these degrees of freedom is above `value` (Abramowitz and Stegun, 26.6.2)."""
    return incomplete_beta(denominator / 2, numerator / 2, *_fractions(denominator, numerator * value))


def _fractions(one: float, other: float) -> tuple[float, float]:
    """Return what fraction of their sum `one` and `other` are; `other` may be infinite."""
    return one / (one + other), 1.0 if math.isinf(other) else other / (one + other)


def binomial_cdf(trials: int, chance: float) -> NDArray[np.float64]:
    """Return the probabilities of at most 0, 1, ..., `trials` successes, each of which has a chance between 0 and 1.

    All follow from the most likely number by the ratios of neighbours, and are added from the smallest on.
    """
    successes = np.arange(1, trials + 1)
    ratios = (trials + 1 - successes) / successes * (chance / (1 - chance))
    likely = min(trials, int((trials + 1) * chance))
    fewer = (1 / ratios[:likely][::-1]).cumprod()[::-1]
    sums = np.concatenate([fewer, [1.0], ratios[likely:].cumprod()]).cumsum()
    return np.asarray(sums / sums[-1], dtype=np.float64)
