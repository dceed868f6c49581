"""The end of the warm-up: the step times no longer have a trend."""

import math
from statistics import median
from typing import Sequence, Tuple

from ...core.samples import Z_95, medians_of_parts

MIN_VALUES = 5  # values that can show a trend at 5 %: all ten pairs in order have p = 0.027
MAX_PARTS = 32  # a longer series becomes medians of equal parts, which are robust; the cost of the test is quadratic


def is_steady(times_s: Sequence[float], tolerance: float) -> bool:
    """Return whether the later half of the times, at least MIN_VALUES, has no trend, or one below `tolerance`."""
    if len(times_s) < MIN_VALUES:
        return False
    return abs(trend(times_s[min(len(times_s) // 2, len(times_s) - MIN_VALUES) :])) <= tolerance


def trend(times_s: Sequence[float]) -> float:
    """Return the change of the times from first to last, as a fraction of the median; 0 if not significant."""
    values = medians_of_parts(times_s, MAX_PARTS)
    return relative_change(values) if has_trend(values) else 0.0


def has_trend(values: Sequence[float]) -> bool:
    """Return whether there is a trend at 5 %, by the Mann-Kendall test.

    Mann (1945, "Nonparametric tests against trend", Econometrica 13), in the normal approximation, with the correction
    for ties of Kendall (1975, "Rank Correlation Methods", chapter 4).
    """
    score, variance = mann_kendall(values)
    return variance > 0 and (abs(score) - 1) / math.sqrt(variance) > Z_95


def mann_kendall(values: Sequence[float]) -> Tuple[int, float]:
    """Return Kendall's score S, rising pairs minus falling pairs, and its variance without a trend."""
    score = 0
    for place, earlier in enumerate(values):
        for later in values[place + 1 :]:
            score += (later > earlier) - (later < earlier)
    count = len(values)
    variance = count * (count - 1) * (2 * count + 5)
    for ties in (values.count(value) for value in set(values)):
        variance -= ties * (ties - 1) * (2 * ties + 5)
    return score, variance / 18


def relative_change(values: Sequence[float]) -> float:
    """Return the change from first to last as a fraction of the median, by the slope of Sen.

    Sen (1968, "Estimates of the regression coefficient based on Kendall's tau", JASA 63).
    """
    slopes = [
        (later - earlier) / distance
        for place, earlier in enumerate(values)
        for distance, later in enumerate(values[place + 1 :], 1)
    ]
    middle = median(values)
    return median(slopes) * (len(values) - 1) / middle if middle > 0 else 0.0
