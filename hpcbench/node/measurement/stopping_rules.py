"""Stopping rules: whether there are enough measurements, judged only by the measurements so far."""

import math
from statistics import median
from typing import Any, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ...core.samples import Z_95

PRECISION = "precision"  # the CI of the median is as narrow as requested
SETTLED = "settled"  # the CI stops narrowing: more measurements would not average the remaining noise out
MAX_TIME = "max_time"
MAX_SAMPLES = "max_measurements"

MAX_SAMPLES_KEPT = 100_000  # the record has all of them
_PARTS = 16  # of a series, for the variance of noise that lasts longer than a measurement
_SHRUNK = 0.9  # the CI of independent measurements narrows to 0.71 of its width when their number doubles


class Settings(NamedTuple):
    """The settings of a measurement."""

    precision: float  # width of the 95 % CI of the median, relative to the median
    min_measurements: int
    min_time_s: float
    max_time_s: float
    max_warmup_s: float


def settings_of(measure: Mapping[str, Any]) -> Settings:
    """Return the settings that `measure` of an experiment has, by name."""
    return Settings(*(measure[name] for name in Settings._fields))


class Stopping:
    """The state of the stopping rules of one measurement."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._widths: List[Tuple[int, float]] = []  # at numbers of measurements that at least double each time

    def reason(self, times_s: Sequence[float], elapsed_s: float) -> Optional[str]:
        """Return why to stop now, or None to continue. The time limit comes first, once there is a measurement."""
        settings, count = self._settings, len(times_s)
        if not count:
            return None
        if elapsed_s >= settings.max_time_s:
            return MAX_TIME
        if count >= MAX_SAMPLES_KEPT:
            return MAX_SAMPLES
        if count < settings.min_measurements or elapsed_s < settings.min_time_s:
            return None
        width = relative_width(times_s)
        if width is None:
            return None
        if width <= settings.precision:
            return PRECISION
        return SETTLED if self._settled(count, width) else None

    def _settled(self, count: int, width: float) -> bool:
        """Return whether the CI has narrowed by less than 10 % in each of the last two doublings of their number."""
        if self._widths and count < 2 * self._widths[-1][0]:
            return False
        self._widths.append((count, width))
        last = [width for _, width in self._widths[-3:]]
        return len(last) == 3 and last[1] > _SHRUNK * last[0] and last[2] > _SHRUNK * last[1]


def interval(times_s: Sequence[float]) -> Optional[Tuple[float, float]]:
    """Return the 95 % CI of the median; None if there are too few measurements.

    Order statistics, without an assumption on the distribution (Conover, 1999, "Practical Nonparametric Statistics",
    section 3.2). The ranks lie sqrt(inflation) times as far apart as for independent measurements.
    """
    ordered = sorted(times_s)
    count = len(ordered)
    reach = Z_95 * math.sqrt(count * inflation(times_s, median(ordered))) / 2
    low, high = math.ceil(count / 2 - reach), math.ceil(count / 2 + reach)  # ranks from 1
    return None if low < 1 or high > count else (ordered[low - 1], ordered[high - 1])


def relative_width(times_s: Sequence[float]) -> Optional[float]:
    """Return the width of the 95 % CI of the median, relative to the median; None if there are too few measurements."""
    found, middle = interval(times_s), median(times_s)
    return None if found is None or middle <= 0 else (found[1] - found[0]) / middle


def inflation(times_s: Sequence[float], middle: float) -> float:
    """Return the variance of the median over its variance for independent measurements, at least 1.

    The variance is that of the share of measurements below the median in equal parts of the series: batch means of the
    indicator (Heidelberger and Lewis, 1984, "Quantile estimation in dependent sequences", Operations Research 32). For
    independent measurements it is 1/4 over the number of measurements in a part.
    """
    size = len(times_s) // _PARTS
    if size < 1:
        return 1.0
    shares = [sum(time < middle for time in times_s[part * size : (part + 1) * size]) / size for part in range(_PARTS)]
    mean = sum(shares) / _PARTS
    variance = sum((share - mean) ** 2 for share in shares) / (_PARTS - 1)
    return max(1.0, variance * size / 0.25)
