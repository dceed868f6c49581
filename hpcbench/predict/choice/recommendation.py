"""Recommend a candidate: the one with the lowest predicted value, if its interval separates it from the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hpcbench.predict.choice.ratios import Candidate, Ratio, RatioErrors, ratio


@dataclass(frozen=True)
class Compared:
    """A candidate that is not the recommended one, with the ratio of the recommended value to its own."""

    candidate: Candidate
    ratio: Ratio


@dataclass(frozen=True)
class Recommendation:
    """The candidate with the lowest predicted value, compared with all others, in rising order of their values."""

    best: Candidate
    others: tuple[Compared, ...]

    @property
    def rivals(self) -> tuple[Compared, ...]:
        """Return the candidates that may be as good as the best one: the interval of their ratio contains 1."""
        return tuple(each for each in self.others if not each.ratio.is_below_one)

    @property
    def is_certain(self) -> bool:
        """Return whether the best candidate is better than all others."""
        return not self.rivals


def recommend(candidates: Sequence[Candidate], errors: RatioErrors | None) -> Recommendation:
    """Return the recommendation among candidates whose values are predicted. Raise ValueError if there are none."""
    if not candidates:
        raise ValueError("a recommendation requires at least one candidate")
    best, *others = sorted(candidates, key=lambda each: (each.log_value, each.label))
    return Recommendation(best, tuple(Compared(each, ratio(best, each, errors)) for each in others))


@dataclass(frozen=True)
class ByLimit:
    """Candidates by whether their value is within a limit: all, some or none of the interval."""

    within: tuple[Candidate, ...]
    uncertain: tuple[Candidate, ...]
    above: tuple[Candidate, ...]


def by_limit(candidates: Sequence[Candidate], limit: float) -> ByLimit:
    """Return the candidates by their interval and an upper limit of the value, in the unit of the value."""
    bound = math.log(limit)
    within = tuple(each for each in candidates if each.log_value + each.half_width <= bound)
    above = tuple(each for each in candidates if each.log_value - each.half_width > bound)
    return ByLimit(within, tuple(each for each in candidates if each not in (*within, *above)), above)
