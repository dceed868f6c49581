"""Change points of a series of values, one per sweep: lasting changes of the level.

At every position, the values before and after are compared by ranks. The statistic is the sum of signs over all pairs
(Pettitt, 1979, "A non-parametric approach to the change-point problem", Applied Statistics 28), which is that of the
rank-sum test. Pettitt's test uses its maximum over all positions, which favours changes in the middle and finds a
recent change after a long history late. Here each position has the p-value of its own rank-sum test. In addition to all
values before and after, windows of 5, 10, 20, ... values on one side are tested, since a slowdown that was later fixed
cancels out over the whole series. The smallest p-value splits the series, and both segments are searched recursively
(binary segmentation: Scott and Knott, 1974, "A cluster analysis method for grouping means in the analysis of variance",
Biometrics 30).

False alarms: p-values have a Bonferroni correction over all positions, windows and series, which holds under any
dependence, for example between cases of a sweep that share a machine. A false discovery rate is not used: real changes
of most cases in one sweep would weaken it for the others. With noise alone, at most a fraction LEVEL of all calls
report a change. Changes count only if the medians of both sides, up to the neighbouring changes, differ by more than a
margin.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hpcbench.analysis.stats.distributions import normal_cdf
from hpcbench.analysis.stats.equivalence import MARGIN
from hpcbench.analysis.stats.intervals import Floats, median_of
from hpcbench.analysis.stats.rank_sum import rank_sum_tail

LEVEL = 0.01
SHORTEST = 5  # values between two changes; equal to MIN_REPETITIONS of a verdict
MIN_VALUES = 2 * SHORTEST  # fewest values of a single series with a detectable change; several series need more
_EXACT = 20  # values on the smaller side; above, the normal approximation is close or conservative

Whole = NDArray[np.int32]


class Change(NamedTuple):
    """A change before index `place`, between the segments `start:place` and `place:end`."""

    start: int
    place: int
    end: int
    p_value: float  # with Bonferroni correction

    def sides(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the values of the segments before and after the change."""
        return values[self.start : self.place], values[self.place : self.end]


class _Split(NamedTuple):
    place: int
    p_value: float


def change_points(series: Sequence[Floats], level: float = LEVEL, margin: float = MARGIN) -> list[list[Change]]:
    """Return the changes of each series of positive values, both in the order of time."""
    return [_changes(values, len(series), level, math.log1p(margin)) for values in series]


@cache
def fewest_values(series: int) -> int:
    """Return the length from which on a change in the middle of each of `series` series can be significant.

    With the correction for several series, MIN_VALUES are too few for even the clearest change.
    """
    length = MIN_VALUES
    while next(_splits(sign_sums(np.arange(length, dtype=np.float64)), 0, length, series, LEVEL), None) is None:
        length += 1
    return length


def sign_sums(values: Floats) -> Whole:
    """Return C[row, column], the sum of sgn(values[j] - values[i]) over i < row and j < column; shape (T + 1, T + 1).

    For T values, Pettitt's U_t,T is -(C[t, T] - C[t, t]).
    """
    signs = np.sign(values[None, :] - values[:, None])
    sums = np.zeros((values.size + 1, values.size + 1), dtype=np.int32)
    sums[1:, 1:] = signs.cumsum(axis=0).cumsum(axis=1)
    return sums


def _changes(values: Floats, families: int, level: float, margin: float) -> list[Change]:
    splits = sorted(_splits(sign_sums(values), 0, values.size, families, level))
    placed: list[_Split] = []
    for change in _beyond(_between(splits, values.size), values, margin):
        begun = change._replace(start=placed[-1].place if placed else 0)
        placed.append(_Split(_placed(begun, values), change.p_value))
    return _beyond(_between(placed, values.size), values, margin)


def _between(splits: list[_Split], end: int) -> list[Change]:
    """Return changes with their segments, up to the neighbouring changes."""
    places = [0, *(split.place for split in splits), end]
    return [Change(places[i], split.place, places[i + 2], split.p_value) for i, split in enumerate(splits)]


def _splits(sums: Whole, begin: int, end: int, families: int, level: float) -> Iterator[_Split]:
    """Yield the significant splits of a segment: the best one, then recursively those of both of its sides."""
    best = _best_split(sums, begin, end, families)
    if best and best.p_value <= level:
        yield best
        yield from _splits(sums, begin, best.place, families, level)
        yield from _splits(sums, best.place, end, families, level)


def _best_split(sums: Whole, begin: int, end: int, families: int) -> _Split | None:
    """Return the split with the smallest p-value over all positions and windows; None if the segment is too short."""
    places = np.arange(begin + SHORTEST, end - SHORTEST + 1)
    if not places.size:
        return None
    windows = list(_windows(places, begin, end))
    tests = families * places.size * len(windows)
    found = []
    for first, last in windows:
        sizes = places - first, last - places
        pairs = sums[places, last] - sums[first, last] - sums[places, places] + sums[first, places]
        scores = np.abs(pairs) / np.sqrt(sizes[0] * sizes[1] * (sizes[0] + sizes[1] + 1) / 3)
        best = int(scores.argmax())
        p_value = _p_value(int(sizes[0][best]), int(sizes[1][best]), abs(int(pairs[best])))
        found.append(_Split(int(places[best]), min(1.0, tests * p_value)))
    return min(found, key=lambda split: split.p_value)


def _windows(places: NDArray[np.int64], begin: int, end: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield the first index and the end index of the values that are compared at each position, for each window."""
    first, last = np.full_like(places, begin), np.full_like(places, end)
    yield first, last
    reach = SHORTEST
    while reach <= (end - begin) // 2 - SHORTEST:  # longer windows hardly differ from all values
        yield first, np.minimum(places + reach, end)
        yield np.maximum(places - reach, begin), last
        reach *= 2


def _p_value(before: int, after: int, pairs: int) -> float:
    """Return the two-sided p-value of the rank-sum test (Mann and Whitney, 1947, Annals of Mathematical Statistics 18).

    `pairs` is the absolute sum of the signs of all pairs. Ties make the p-value larger, never smaller.
    """
    few, many = sorted((before, after))
    if few > _EXACT:
        return 2 * normal_cdf(-pairs / math.sqrt(few * many * (few + many + 1) / 3))
    exceptions = math.ceil((few * many - pairs) / 2)  # pairs of the opposite order
    return min(1.0, 2 * float(rank_sum_tail(few, many)[exceptions]))


def _beyond(changes: list[Change], values: Floats, margin: float) -> list[Change]:
    """Return the changes beyond the margin; the smallest is removed first, since this changes its neighbours' sides."""
    while changes:
        steps = [_step(change, values) for change in changes]
        least = steps.index(min(steps))
        if steps[least] > margin:
            break
        kept = [_Split(change.place, change.p_value) for change in changes if change is not changes[least]]
        changes = _between(kept, values.size)
    return changes


def _step(change: Change, values: Floats) -> float:
    before, after = change.sides(values)
    return abs(math.log(median_of(after) / median_of(before)))


def _placed(change: Change, values: Floats) -> int:
    """Return the position with the smallest sum of absolute deviations from the medians of both sides.

    The position by ranks alone is biased towards the middle by extreme values of the longer side.
    """
    before, after = change.sides(values)
    own = values[change.start : change.end]
    costs = (np.abs(own - median_of(before)) - np.abs(own - median_of(after))).cumsum()
    allowed = costs[SHORTEST - 1 : -SHORTEST]
    return change.start + SHORTEST + int(allowed.argmin())
