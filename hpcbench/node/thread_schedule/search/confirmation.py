"""Confirm that a schedule is faster than the best fixed count: both run as in normal use, in pairs."""

import math
from statistics import median
from typing import Callable, List, NamedTuple, Sequence, Tuple

TimeSteps = Callable[[int], float]  # the number of steps to the seconds of one
PAIRS = 60  # fixed in advance: stopping when the gain seems significant would find gains where there are none
FEWEST_PAIRS = 10  # if the budget allows no more
BLOCK_S = 0.02  # of steps: hooks and clock readings are as rare as in normal use
MOST_STEPS = 1000  # in a block
_TAIL = 0.025  # 95 %, two-sided


class Interval(NamedTuple):
    """A median and its 95 % confidence interval."""

    middle: float
    low: float
    high: float


class Confirmation(NamedTuple):
    """The paired comparison of a schedule with the best fixed count."""

    gain: Interval  # times as fast as with the fixed count
    fixed_s: float  # of a step
    dynamic_s: float

    @property
    def certain(self) -> bool:
        """Return whether the schedule is faster by the 95 % confidence interval of the median."""
        return self.gain.low > 1


def confirm(fixed: TimeSteps, dynamic: TimeSteps, step_s: float, budget_s: float = math.inf) -> Confirmation:
    """Time both alternately within about `budget_s` seconds, each as often first as second; return the comparison."""
    steps = max(1, min(MOST_STEPS, math.ceil(BLOCK_S / max(step_s, 1e-9))))
    pairs: List[Tuple[float, float]] = []
    for turn in range(_pairs(budget_s, 2 * (steps + 1) * step_s)):
        if turn % 2:
            dynamic_s = dynamic(steps)
            fixed_s = fixed(steps)
        else:
            fixed_s = fixed(steps)
            dynamic_s = dynamic(steps)
        pairs.append((fixed_s, dynamic_s))
    return Confirmation(
        gain=median_interval([fixed_s / dynamic_s for fixed_s, dynamic_s in pairs]),
        fixed_s=median(fixed_s for fixed_s, _ in pairs),
        dynamic_s=median(dynamic_s for _, dynamic_s in pairs),
    )


def _pairs(budget_s: float, pair_s: float) -> int:
    return PAIRS if budget_s >= PAIRS * pair_s else max(FEWEST_PAIRS, int(budget_s / pair_s))


def median_interval(values: Sequence[float]) -> Interval:
    """Return the median and its confidence interval by order statistics, which assume no distribution.

    The ranks are those of the binomial distribution, so that the coverage is at least 95 % for any number of values
    (Conover, 1999, "Practical Nonparametric Statistics", section 3.2). With too few values it is infinite.
    """
    ordered, rank = sorted(values), _rank(len(values))
    if not rank:
        return Interval(median(ordered), -math.inf, math.inf)
    return Interval(median(ordered), ordered[rank - 1], ordered[-rank])


def _rank(count: int) -> int:
    """Return the largest rank, from 1, whose order statistic is below the median with confidence; 0 if none."""
    rank, ways = 0, 1  # of fewer than rank + 1
    while ways <= _TAIL * 2**count:
        rank += 1
        ways += math.comb(count, rank)
    return rank
