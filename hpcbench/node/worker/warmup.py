"""Whether steps have settled: a warm-up has ended when the times of its steps show no trend any more."""

import math
from statistics import median
from typing import Sequence, Tuple

from ...core.samples import medians_of_parts

FEWEST = 5  # values that can show a trend at 5 %: all ten pairs in order have p = 0.027
MOST = 32  # medians of equal parts stand for a longer series: they are robust, and the test takes the square of it
_Z = 1.959964  # of the normal distribution, two-sided, at 5 %


def is_steady(times_s: Sequence[float], tolerance: float) -> bool:
    """Whether the later half of these times, and no fewer than FEWEST, has no trend, or one that changes them by less
    than `tolerance` in all."""
    if len(times_s) < FEWEST:
        return False
    return abs(trend(times_s[min(len(times_s) // 2, len(times_s) - FEWEST) :])) <= tolerance


def trend(times_s: Sequence[float]) -> float:
    """By what part of their median these times change from the first to the last; 0 where that could be chance."""
    values = medians_of_parts(times_s, MOST)
    return relative_change(values) if has_trend(values) else 0.0


def has_trend(values: Sequence[float]) -> bool:
    """The test of Mann (1945, "Nonparametric tests against trend", Econometrica 13), with the normal approximation and
    the correction for ties of Kendall (1975, "Rank Correlation Methods", chapter 4)."""
    score, variance = mann_kendall(values)
    return variance > 0 and (abs(score) - 1) / math.sqrt(variance) > _Z


def mann_kendall(values: Sequence[float]) -> Tuple[int, float]:
    """Kendall's score S, rising pairs less falling ones, and its variance where there is no trend."""
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
    """By what part of the median the values change from the first to the last, by the slope of Sen (1968, "Estimates of
    the regression coefficient based on Kendall's tau", JASA 63)."""
    slopes = [
        (later - earlier) / distance
        for place, earlier in enumerate(values)
        for distance, later in enumerate(values[place + 1 :], 1)
    ]
    middle = median(values)
    return median(slopes) * (len(values) - 1) / middle if middle > 0 else 0.0
