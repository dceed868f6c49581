"""Probabilities and quantiles of the normal, Student's t, Fisher's F and the binomial distribution.

Those of t and F are incomplete beta functions. scipy has all of them, too, but it takes 143 MB of a quota, and half a
second to import.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

_STANDARD = NormalDist()
_CLOSE = 1e-5  # the last step of Halley's method: the error after it is of the order of its cube
_MOST_STEPS = 100
_SMALL = 3e-16  # relative size of the last term
_MOST = 10_000  # terms; of the order of the square root of the larger parameter are needed
_LARGE = 15.0  # from here on, Stirling's series has full precision
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360_360)


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


def incomplete_beta(a: float, b: float, x: float, y: float) -> float:
    """Return I_x(a, b); NaN for NaN. `y` is 1 - x, because all digits of small values of either count.

    It is the continued fraction of DiDonato and Morris (1992, "Significant digit computation of the incomplete beta
    function ratios", ACM Transactions on Mathematical Software 18), or 1 - I_y(b, a) for x above the mean.
    """
    if math.isnan(a + b + x):
        return math.nan
    power = beta_power(a, b, x, y)
    return power * _fraction(a, b, x, y) if a * y >= b * x else 1 - power * _fraction(b, a, y, x)


def beta_power(a: float, b: float, x: float, y: float) -> float:
    """Return x ** a * y ** b / B(a, b) for x + y = 1.

    It is computed like a binomial probability: the logarithms of the gamma function would cancel (Loader, 2000, "Fast
    and accurate computation of binomial probabilities").
    """
    if x <= 0 or y <= 0:
        return 0.0
    size = a + b
    return _scale(a, b) * math.exp(-_deviance(a, size * x) - _deviance(b, size * y))


@lru_cache(maxsize=1024)
def _scale(a: float, b: float) -> float:
    """Return the beta_power at its maximum, x = a / (a + b)."""
    corrections = _stirling_error(a + b) - _stirling_error(a) - _stirling_error(b)
    return math.sqrt(a / (a + b) * b / math.tau) * math.exp(corrections)


def _stirling_error(value: float) -> float:
    """Return the logarithm of Gamma(`value` + 1) minus Stirling's approximation of it (DLMF 5.11.1)."""
    if value < _LARGE:
        return math.log(math.gamma(value + 1) * math.exp(value) / value ** (value + 0.5) / math.sqrt(math.tau))
    return sum(term / value ** (2 * place + 1) for place, term in enumerate(_STIRLING))


def _deviance(count: float, mean: float) -> float:
    """Return count * log(count / mean) + mean - count, without cancellation if both are close."""
    difference = count - mean
    if abs(difference) > 0.1 * (count + mean):
        return count * math.log(count / mean) - difference
    ratio = difference / (count + mean)
    total, term, divisor = difference * ratio, 2 * count * ratio, 1
    while True:
        term *= ratio * ratio
        divisor += 2
        longer = total + term / divisor
        if longer == total:
            return total
        total = longer


def _fraction(a: float, b: float, x: float, y: float) -> float:
    """Return 1 / (beta1 + alpha2 / (beta2 + ...)) of DiDonato and Morris by Lentz's method (Press et al., "Numerical
    Recipes", 5.2).

    Raise ArithmeticError if it does not converge.
    """
    beyond = a * y - b * x + 1
    found = above = a / (a + 1) * beyond
    below = 0.0
    for n in range(1, _MOST):
        place = a + 2 * n
        factor = n * (b - n) * x / (place - 1)
        alpha = (a + n - 1) * (a + b + n - 1) / (place - 1) * factor * x
        beta = n + factor + (a + n) / (place + 1) * (beyond + n * (1 + y))
        below = 1 / (beta + alpha * below)
        above = beta + alpha / above
        change = above * below
        found *= change
        if abs(change - 1) <= _SMALL:
            return 1 / found
    raise ArithmeticError(f"I_x({a:g}, {b:g}) does not converge at x = {x:g}")
