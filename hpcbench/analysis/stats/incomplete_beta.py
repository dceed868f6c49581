"""The regularized incomplete beta function, which Student's t and Fisher's F distributions consist of.

scipy has it, too, but takes 143 MB and half a second to import.
"""

from __future__ import annotations

import math
from functools import lru_cache

_SMALL = 3e-16  # relative size of the last term
_MOST = 10_000  # terms; of the order of the square root of the larger parameter are needed
_LARGE = 15.0  # from here on, Stirling's series has full precision
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360_360)


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
