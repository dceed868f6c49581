"""Estimates of sampled times: medians and their standard errors."""

import math
from statistics import median
from typing import Collection, Dict, List, NamedTuple, Optional, Sequence, Tuple

Z = 1.644854  # of the normal distribution: 95 %, one-sided
# For normal noise, the median's standard error is sqrt(pi / 2) of the mean's, and the MAD 0.6745 standard deviations
# (Huber, 1981, "Robust Statistics", chapters 1 and 5).
_ERROR_OF_MEDIAN = math.sqrt(math.pi / 2)
_DEVIATIONS_IN_MAD = 0.6745
_FEWEST = 3


class Estimate(NamedTuple):
    """A time and its standard error, in seconds."""

    seconds: float
    error_s: float

    @property
    def low_s(self) -> float:
        """Return the lower 95 % confidence bound (one-sided) in seconds."""
        return self.seconds - Z * self.error_s

    @property
    def high_s(self) -> float:
        """Return the upper 95 % confidence bound (one-sided) in seconds."""
        return self.seconds + Z * self.error_s


UNKNOWN = Estimate(0.0, math.inf)


def of_samples(times_s: Sequence[float]) -> Estimate:
    """Return the median; its error comes from the median absolute deviation, which is robust against outliers."""
    if not times_s:
        return UNKNOWN
    middle = median(times_s)
    if len(times_s) < _FEWEST:
        return Estimate(middle, math.inf)
    deviation = median(abs(time_s - middle) for time_s in times_s) / _DEVIATIONS_IN_MAD
    return Estimate(middle, _ERROR_OF_MEDIAN * deviation / math.sqrt(len(times_s)))


def difference(one: Estimate, other: Estimate) -> Estimate:
    """Return the difference of two independent estimates."""
    return Estimate(one.seconds - other.seconds, math.hypot(one.error_s, other.error_s))


def pooled(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean of independent estimates of one quantity, weighted by the inverse of their variances."""
    known = [estimate for estimate in estimates if math.isfinite(estimate.error_s)]
    if not known:
        return UNKNOWN
    exact = [estimate.seconds for estimate in known if not estimate.error_s]
    if exact:
        return Estimate(sum(exact) / len(exact), 0.0)
    weights = [1 / estimate.error_s**2 for estimate in known]
    seconds = sum(weight * estimate.seconds for weight, estimate in zip(weights, known)) / sum(weights)
    return Estimate(seconds, 1 / math.sqrt(sum(weights)))


Change = Tuple[int, int]


class SectionTimes:
    """Samples of every section at every count, separated by the count of the section before it."""

    def __init__(self, sections: int) -> None:
        self.sections = sections
        self._samples: List[Dict[Change, List[float]]] = [{} for _ in range(sections)]
        self._known: Dict[Tuple[int, Change], Estimate] = {}
        self._pooled: Dict[Change, Estimate] = {}

    def add(self, counts: Sequence[int], times_s: Sequence[float]) -> None:
        """Add the seconds of each section of a step whose predecessor had the same counts."""
        for place, time_s in enumerate(times_s):
            change = (counts[place - 1], counts[place])
            self._samples[place].setdefault(change, []).append(time_s)
            self._known.pop((place, change), None)
        self._pooled.clear()

    def of(self, section: int, count: int, before: Optional[int] = None) -> Estimate:
        """Return the time of a section at this count; with `before`, after a section of that count."""
        key = (section, (count if before is None else before, count))
        if key not in self._known:
            self._known[key] = of_samples(self._samples[section].get(key[1], ()))
        return self._known[key]

    def seconds(self, section: int) -> Dict[int, float]:
        """Return the median seconds of a section by count, without changes of the count."""
        counts = [count for before, count in self._samples[section] if before == count]
        return {count: self.of(section, count).seconds for count in sorted(counts)}

    def change(self, before: int, count: int) -> Estimate:
        """Return the cost of a change of the count, pooled over sections.

        It is the time of a section after another count less its time after its own.
        """
        if (before, count) not in self._pooled:
            differences = [
                difference(self.of(section, count, before), self.of(section, count))
                for section in range(self.sections)
                if (before, count) in self._samples[section]
            ]
            self._pooled[before, count] = pooled(differences)
        return self._pooled[before, count]

    def with_sections_of(self, other: "SectionTimes", chosen: Collection[Tuple[int, int]]) -> "SectionTimes":
        """Return these times, with those of `other` for the chosen pairs of section and count."""
        made = SectionTimes(self.sections)
        for section, samples in enumerate(self._samples):
            for change in samples:
                source = other if (section, change[1]) in chosen else self
                made._samples[section][change] = list(source._samples[section].get(change, ()))
        return made

    def changes(self) -> List[Change]:
        """Return the changes that were measured, as pairs of counts."""
        return sorted({change for samples in self._samples for change in samples if change[0] != change[1]})
