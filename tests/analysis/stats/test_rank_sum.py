"""The exact rank-sum test: the same p-values as scipy, and counts in whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu, rankdata

from hpcbench.analysis.stats.rank_sum import rank_sum_p, rank_sum_tail


@pytest.mark.parametrize(("few", "many"), [(1, 1), (1, 9), (5, 5), (7, 30), (30, 30)])
def test_the_tail_is_counted_in_whole_numbers(few: int, many: int) -> None:
    """The generating function, as Mann and Whitney have it, in Python's integers."""
    counts = [1] + [0] * (few * many)
    for i in range(1, few + 1):
        for place in range(few * many, many + i - 1, -1):
            counts[place] -= counts[place - many - i]
        for place in range(i, few * many + 1):
            counts[place] += counts[place - i]
    assert sum(counts) == math.comb(few + many, few)
    tail = rank_sum_tail(few, many)
    for place in range(min(tail.size, len(counts))):
        assert tail[place] == pytest.approx(float(Fraction(sum(counts[: place + 1]), sum(counts))), rel=1e-13)


sides = st.lists(st.integers(0, 12), min_size=1, max_size=14).map(lambda side: np.array(side, dtype=np.float64))


@given(sides, sides)
def test_it_is_that_of_scipy_with_ties_broken_for_the_largest_p_value(base: np.ndarray, new: np.ndarray) -> None:
    ranks = rankdata(np.concatenate((base, new)), method="dense")
    old, now = ranks[: base.size], ranks[base.size :]
    larger = mannwhitneyu(now - 0.5, old, alternative="greater", method="exact").pvalue
    smaller = mannwhitneyu(now + 0.5, old, alternative="less", method="exact").pvalue
    assert rank_sum_p(base, new) == pytest.approx(min(1.0, 2 * min(larger, smaller)), rel=1e-12)
