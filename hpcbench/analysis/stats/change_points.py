"""Change points of a series of values, one per sweep: where the level changes and stays changed for some sweeps.

At every place, the values before and after are compared by ranks: the sum of signs over all pairs, as Pettitt uses it
(1979, "A non-parametric approach to the change-point problem", Applied Statistics 28), which is the statistic of the
rank-sum test. Pettitt's test takes its maximum, which favours changes in the middle: a recent change after a long
history would be found late. Here each place has the p-value of its own rank-sum test. In addition to all values before
and after, windows of 5, 10, 20, ... values on one side are tested, since a slowdown that was fixed cancels out in the
whole. The smallest p-value splits the series; both parts are searched again while a split is found (binary
segmentation: Scott and Knott, 1974, "A cluster analysis method for grouping means in the analysis of variance",
Biometrics 30).

False alarms: p-values have a Bonferroni correction over all places, windows and series, which holds under any
dependence, such as cases of a sweep that share a machine. A false discovery rate would not do: real changes of most
cases in one sweep would weaken it for the others. In noise alone, at most LEVEL of all calls report a change. Changes
count only if the medians of both sides, up to the neighbouring changes, differ by more than a margin.
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
MIN_VALUES = 2 * SHORTEST  # values of one series in which a change can be found; of several series, some more
_EXACT = 10  # on the smaller side: beyond, the normal approximation is close, and too careful where it is not

Whole = NDArray[np.int32]


class Change(NamedTuple):
    """A change. `place` is the index of the first value after it; its segments are from `start` to `end`."""

    start: int
    place: int
    end: int
    p_value: float  # corrected

    def sides(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the values of the segments before and after the change."""
        return values[self.start : self.place], values[self.place : self.end]


class _Split(NamedTuple):
    place: int
    p_value: float


def change_points(series: Sequence[Floats], level: float = LEVEL, margin: float = MARGIN) -> list[list[Change]]:
    """Return the changes of each series of positive values in the order of time."""
    return [_changes(values, len(series), level, math.log1p(margin)) for values in series]


def sign_sums(values: Floats) -> Whole:
    """Return sums over rectangles of pairs: of sgn(values[j] - values[i]) for all i < row and j < column.

    With C for the result and T values, Pettitt's U_t,T is minus (C[t, T] - C[t, t]).
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
    """Return changes with their segments, up to the neighbouring changes."""
    places = [0, *(split.place for split in splits), end]
    return [Change(places[i], split.place, places[i + 2], split.p_value) for i, split in enumerate(splits)]


def _splits(sums: Whole, begin: int, end: int, families: int, level: float) -> Iterator[_Split]:
    """Yield the best split, and those of both parts."""
    best = _best_split(sums, begin, end, families)
    if best and best.p_value <= level:
        yield best
        yield from _splits(sums, begin, best.place, families, level)
        yield from _splits(sums, best.place, end, families, level)


def _best_split(sums: Whole, begin: int, end: int, families: int) -> _Split | None:
    """Return the place with the smallest p-value over all windows."""
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
    """Yield the first and last values that are compared at each place."""
    first, last = np.full_like(places, begin), np.full_like(places, end)
    yield first, last
    reach = SHORTEST
    while reach <= (end - begin) // 2 - SHORTEST:  # a longer one says the same as all
        yield first, np.minimum(places + reach, end)
        yield np.maximum(places - reach, begin), last
        reach *= 2


def _p_value(before: int, after: int, pairs: int) -> float:
    """Return the two-sided p-value of the rank-sum test (Mann and Whitney, 1947, Annals of Mathematical Statistics 18).

    `pairs` is the sum of the signs of all pairs. Ties make the p-value larger, never smaller.
    """
    few, many = sorted((before, after))
    if few > _EXACT:
        return 2 * float(ndtr(-pairs / math.sqrt(few * many * (few + many + 1) / 3)))
    exceptions = math.ceil((few * many - pairs) / 2)  # pairs that are the other way round
    return min(1.0, 2 * float(rank_sum_tail(few, many)[exceptions]))


@lru_cache(maxsize=512)
def rank_sum_tail(few: int, many: int) -> Floats:
    """Return the probabilities under H0 that at most 0, 1, 2, ... pairs of values of such sides are inverted.

    The counts are the coefficients of the Gaussian binomial: the product over i up to `few` of (1 - q ** (many + i)) /
    (1 - q ** i) (Mann and Whitney, 1947, section 3). scipy's implementation takes a hundred times as long.
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
    """Remove changes within the margin, the smallest first, since merging its sides changes its neighbours."""
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
    """Return the place with the smallest sum of distances to the medians of both sides.

    Ranks alone move it towards the middle, by extreme values of the longer side.
    """
    before, after = change.sides(values)
    own = values[change.start : change.end]
    costs = (np.abs(own - median_of(before)) - np.abs(own - median_of(after))).cumsum()
    allowed = costs[SHORTEST - 1 : -SHORTEST]
    return change.start + SHORTEST + int(allowed.argmin())
