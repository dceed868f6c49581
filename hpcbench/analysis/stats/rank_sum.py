"""The exact distribution of the rank-sum test (Mann and Whitney, 1947, Annals of Mathematical Statistics 18)."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from hpcbench.analysis.stats.intervals import Floats


@lru_cache(maxsize=512)
def rank_sum_tail(few: int, many: int) -> Floats:
    """Return the probabilities under H0 that at most 0, 1, 2, ... pairs from samples of both sizes are inverted.

    They go up to half of all pairs. The counts are the coefficients of the Gaussian binomial: the product over i up to
    `few` of (1 - q ** (many + i)) / (1 - q ** i) (section 3).
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


def rank_sum_p(base: Floats, new: Floats) -> float:
    """Return the two-sided p-value of the exact rank-sum test.

    It is valid for any distribution. Ties are conservative: the p-value is the largest over all ways to break them.
    """
    above = int((new[:, None] > base[None, :]).sum())
    below = int((new[:, None] < base[None, :]).sum())
    tail = rank_sum_tail(*sorted((base.size, new.size)))
    inverted = base.size * new.size - max(above, below)
    return min(1.0, 2 * float(tail[inverted])) if inverted < tail.size else 1.0
