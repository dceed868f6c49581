"""Where in a series of values, one for each sweep, the level changes, and stays changed for some sweeps.

What came before a place and what came after are compared by ranks, at every place: the sum of signs over all pairs,
as Pettitt takes it (1979, "A non-parametric approach to the change-point problem", Applied Statistics 28), which is
the statistic of the rank-sum test. His test takes its maximum, which is largest for changes in the middle: one of
last week, after a year of sweeps, would be found a month later. Here each place has the p-value of its own rank-sum
test. And there are more windows than all before and all after, since what got slow and was mended looks in the whole
like nothing: all before beside the next 5, 10, 20, ..., and the last 5, 10, 20, ... beside all after. The smallest
p-value splits the series; both parts are looked at again, for as long as a split is found (binary segmentation: Scott
and Knott, 1974, "A cluster analysis method for grouping means in the analysis of variance", Biometrics 30).

False alarms: p-values are corrected by Bonferroni, for all places, windows and series. That holds however these
depend on each other, and the cases of a sweep, which share a machine, do. The false discovery rate of verdicts.py
would not do: a night in which most cases change in earnest would let one more pass too easily, and what was split is
split again. In noise alone, at most LEVEL of all calls show any change at all. What is found counts only where the
medians of both sides, up to the next changes, differ by more than a margin.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from hpcbench.analysis.stats.equivalence import MARGIN
from hpcbench.analysis.stats.intervals import Floats, median_of

LEVEL = 0.01
SHORTEST = 5  # values between two changes, as many as repetitions for a verdict
FEWEST = 2 * SHORTEST  # values of one series in which a change can be found; of several series, some more
_EXACT = 10  # on the smaller side: beyond, the normal approximation is close, and too careful where it is not

Whole = NDArray[np.int32]


class Change(NamedTuple):
    """`place` is the index of the first value after it; what it divides begins at `start` and ends before `end`."""

    start: int
    place: int
    end: int
    p_value: float  # corrected

    def sides(self, values: Floats) -> tuple[Floats, Floats]:
        return values[self.start : self.place], values[self.place : self.end]


class _Split(NamedTuple):
    place: int
    p_value: float


def change_points(series: Sequence[Floats], level: float = LEVEL, margin: float = MARGIN) -> list[list[Change]]:
    """The changes of each series of positive values, which are in the order of time."""
    return [_changes(values, len(series), level, math.log1p(margin)) for values in series]


def sign_sums(values: Floats) -> Whole:
    """Sums over a rectangle of pairs: of sgn(values[j] - values[i]) for all i < row and j < column.

    With C for it and T values, Pettitt's U_t,T is minus (C[t, T] - C[t, t]).
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
    return _between(placed, values.size)


def _between(splits: list[_Split], end: int) -> list[Change]:
    """Each with the values from the one before it to the next."""
    places = [0, *(split.place for split in splits), end]
    return [Change(places[i], split.place, places[i + 2], split.p_value) for i, split in enumerate(splits)]


def _splits(sums: Whole, begin: int, end: int, families: int, level: float) -> Iterator[_Split]:
    """The best split, and those of both parts."""
    best = _best_split(sums, begin, end, families)
    if best and best.p_value <= level:
        yield best
        yield from _splits(sums, begin, best.place, families, level)
        yield from _splits(sums, best.place, end, families, level)


def _best_split(sums: Whole, begin: int, end: int, families: int) -> _Split | None:
    """The place with the smallest p-value, among the clearest ones of each kind of window."""
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
    """Where the values begin and end that are compared at each place."""
    first, last = np.full_like(places, begin), np.full_like(places, end)
    yield first, last
    reach = SHORTEST
    while reach <= (end - begin) // 2 - SHORTEST:  # a longer one says the same as all
        yield first, np.minimum(places + reach, end)
        yield np.maximum(places - reach, begin), last
        reach *= 2


def _p_value(before: int, after: int, pairs: int) -> float:
    """The two-sided p-value of the rank-sum test (Mann and Whitney, 1947, Annals of Mathematical Statistics 18), for so
    many values a side, where the signs of all pairs add up to so much. Ties make it larger, never smaller."""
    few, many = sorted((before, after))
    if few > _EXACT:
        return 2 * float(ndtr(-pairs / math.sqrt(few * many * (few + many + 1) / 3)))
    exceptions = math.ceil((few * many - pairs) / 2)  # pairs that are the other way round
    return min(1.0, 2 * float(rank_sum_tail(few, many)[exceptions]))


@lru_cache(maxsize=512)
def rank_sum_tail(few: int, many: int) -> Floats:
    """The probabilities, by chance, that at most 0, 1, 2, ... pairs of values of such sides are the other way round.

    The counts are the coefficients of the Gaussian binomial: the product over i up to `few` of
    (1 - q ** (many + i)) / (1 - q ** i) (Mann and Whitney, 1947, section 3). scipy's way takes a hundred times as long.
    """
    counts = np.zeros(few * many // 2 + 2)
    counts[0] = 1.0
    for i in range(1, few + 1):
        counts[many + i :] -= counts[: -many - i].copy()
        padded = np.zeros(-(-counts.size // i) * i)
        padded[: counts.size] = counts
        counts = padded.reshape(-1, i).cumsum(axis=0).ravel()[: counts.size]
    tail: Floats = counts.cumsum() / math.comb(few + many, few)
    return tail


def _beyond(changes: list[Change], values: Floats, margin: float) -> list[Change]:
    """Those by more than the margin. The least goes first: what it divided is one, and its neighbours may be larger."""
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
    """Where the values are closest to the medians of both sides, by the sum of distances.

    Ranks alone move it towards the middle, by values that happen to lie highest, or lowest, on the longer side.
    """
    before, after = change.sides(values)
    own = values[change.start : change.end]
    costs = (np.abs(own - median_of(before)) - np.abs(own - median_of(after))).cumsum()
    allowed = costs[SHORTEST - 1 : -SHORTEST]
    return change.start + SHORTEST + int(allowed.argmin())
