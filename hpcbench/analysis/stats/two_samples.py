"""Compare two sets of runs: the ratio of their medians, its interval, and two tests.

Both tests use one value per run: each is a new process, and only these are independent.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hpcbench.analysis.stats.distributions import normal_quantile, student_quantile, student_tail
from hpcbench.analysis.stats.intervals import LEVEL, Floats, exponential, median_of

MIN_REPETITIONS = 5  # fewest runs per side with which the rank-sum test can reach 1 %
_POWER = 0.9
_ROUNDING = 1e-12  # differences of logarithms below are rounding errors


class Ratio(NamedTuple):
    """The ratio NEW / BASE. Limits, p-value and variance are None if a side has only one run.

    The estimate and its limits may be 0 or infinite. `variance` is the variance of the logarithms between runs,
    summed over both sides.
    """

    estimate: float
    low: float | None
    high: float | None
    p_value: float | None
    variance: float | None


def ratio_of_medians(base: Floats, new: Floats) -> Ratio:
    """Return the ratio NEW / BASE of the medians of two sets of positive values.

    Interval and two-sided p-value are by Welch's t on the logarithms (Welch, 1947, "The generalization of 'Student's'
    problem when several different population variances are involved", Biometrika 34; degrees of freedom by
    Satterthwaite, 1946). The interval is widened to contain the ratio of the medians.
    """
    estimate = median_of(new) / median_of(base)
    if min(base.size, new.size) < 2:
        return Ratio(estimate, None, None, None, None)
    logs = np.log(base), np.log(new)
    variances = [float(side.var(ddof=1)) for side in logs]
    errors = [variance / side.size for variance, side in zip(variances, logs, strict=True)]
    difference, error = float(logs[1].mean() - logs[0].mean()), math.sqrt(sum(errors))
    if error < _ROUNDING:
        return Ratio(estimate, estimate, estimate, float(abs(difference) < _ROUNDING), 0.0)
    freedom = sum(errors) ** 2 / sum(e**2 / (side.size - 1) for e, side in zip(errors, logs, strict=True))
    half = student_quantile(freedom, (1 + LEVEL) / 2) * error
    low, high = exponential(difference - half), exponential(difference + half)
    p_value = 2 * student_tail(freedom, abs(difference) / error)
    return Ratio(estimate, min(low, estimate), max(high, estimate), p_value, sum(variances))


def runs_needed(distance: float, variance: float, level: float, most: int) -> int | None:
    """Return the runs per side that detect a difference of logarithms at `level` with a power of 90 %.

    The formula is that of Lehr (1992, "Sixteen s-squared over d-squared") with Student's quantiles instead of the 16.
    It is approximate: the rank-sum test needs a few more. Return None above `most`.
    """
    for count in range(MIN_REPETITIONS, most + 1):
        quantiles = student_quantile(2 * count - 2, 1 - level / 2) + normal_quantile(_POWER)
        if quantiles * math.sqrt(variance / count) <= distance:
            return count
    return None
