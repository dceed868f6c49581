"""The difference of two sets of repetitions: published numbers, scipy, and all orders of a few values."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hpcbench.analysis.stats.rank_sum import rank_sum_p
from hpcbench.analysis.stats.two_samples import MIN_REPETITIONS, ratio_of_medians, runs_needed

Floats = NDArray[np.float64]
# Student's data on sleep (Biometrika, 1908), as every R has them; t.test() there gives t = -1.8608, df = 17.776,
# p-value = 0.07939 and the interval -3.3654832 to 0.2054832 for their difference.
SLEEP = (
    np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]),
    np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]),
)


def test_interval_and_p_value_are_welchs_of_the_logarithms() -> None:
    ratio = ratio_of_medians(np.exp(SLEEP[1]), np.exp(SLEEP[0]))
    assert ratio.low is not None
    assert ratio.high is not None
    assert (math.log(ratio.low), math.log(ratio.high)) == pytest.approx((-3.3654832, 0.2054832), abs=1e-7)
    assert ratio.p_value == pytest.approx(0.07939, abs=5e-6)
    assert ratio.estimate == pytest.approx(np.median(np.exp(SLEEP[0])) / np.median(np.exp(SLEEP[1])))


values = st.lists(st.floats(0.5, 2.0), min_size=2, max_size=12, unique=True).map(np.array)


@given(values, values)
def test_it_is_what_scipy_says(base: Floats, new: Floats) -> None:
    ratio = ratio_of_medians(base, new)
    other = scipy.stats.ttest_ind(np.log(new), np.log(base), equal_var=False)
    low, high = np.exp(other.confidence_interval(0.95))
    assert ratio.p_value == pytest.approx(other.pvalue, rel=1e-6, abs=1e-12)
    assert ratio.low == pytest.approx(min(low, ratio.estimate), rel=1e-6)
    assert ratio.high == pytest.approx(max(high, ratio.estimate), rel=1e-6)


@given(values, values)
def test_the_ratio_of_the_other_way_round_is_its_inverse(base: Floats, new: Floats) -> None:
    one, other = ratio_of_medians(base, new), ratio_of_medians(new, base)
    assert one.p_value == pytest.approx(other.p_value)
    found = (one.estimate, one.low, one.high)
    assert found == pytest.approx((1 / other.estimate, 1 / other.high, 1 / other.low))  # type: ignore[operator]


def test_an_interval_holds_the_ratio_of_the_medians_where_the_means_lie_elsewhere() -> None:
    base, new = np.linspace(0.999, 1.001, 12), np.array([1.0] * 7 + [3.0] * 5)
    ratio = ratio_of_medians(base, new)
    assert ratio.low == ratio.estimate == pytest.approx(1.0)
    other_way_round = ratio_of_medians(new, base)
    assert other_way_round.high == other_way_round.estimate == pytest.approx(1.0)


@pytest.mark.parametrize("sizes", [(1, 1), (1, 5), (5, 1)])
def test_one_repetition_has_no_spread_and_the_ratio_no_interval(sizes: tuple[int, int]) -> None:
    ratio = ratio_of_medians(np.full(sizes[0], 2.0), np.full(sizes[1], 3.0))
    assert ratio == (1.5, None, None, None, None)


@pytest.mark.parametrize(("new", "p_value"), [(0.1, 1.0), (0.11, 0.0)])
def test_values_that_never_vary_leave_nothing_to_chance(new: float, p_value: float) -> None:
    ratio = ratio_of_medians(np.full(5, 0.1), np.full(7, new))
    assert (ratio.low, ratio.high) == (ratio.estimate, ratio.estimate)
    assert (ratio.p_value, ratio.variance) == (p_value, 0.0)


@pytest.mark.parametrize("sizes", [(5, 5), (3, 4), (2, 6)])
def test_the_rank_sum_test_counts_all_orders(sizes: tuple[int, int]) -> None:
    """Of each order of so many values it gives the part of all orders whose rank sum is as far from the middle."""
    total = sum(sizes)
    orders = list(itertools.combinations(range(total), sizes[0]))
    middle = sizes[0] * (total - 1) / 2
    distances = np.array([abs(sum(order) - middle) for order in orders])
    for order, distance in list(zip(orders, distances, strict=True))[:: len(orders) // 20]:
        base = np.array(order, dtype=float)
        new = np.array([rank for rank in range(total) if rank not in order], dtype=float)
        assert rank_sum_p(base, new) == pytest.approx(np.mean(distances >= distance))


@pytest.mark.parametrize(("levels", "size"), [(2, 5), (3, 5), (3, 4), (1, 4)])
def test_ties_make_the_rank_sum_test_no_surer_than_it_may_be(levels: int, size: int) -> None:
    """Of all ways to share out tied values between the sides, at most a part p has a p-value of p or less."""
    for values in itertools.combinations_with_replacement(range(levels), size + 4):
        ways = Counter(tuple(sorted(values[place] for place in way)) for way in combinations(size + 4, size))
        found = {base: rank_sum_p(*sides_of(values, base)) for base in ways}
        for p_value in found.values():
            as_sure = sum(count for base, count in ways.items() if found[base] <= p_value * (1 + 1e-9))
            assert as_sure <= p_value * ways.total() * (1 + 1e-9)


def combinations(total: int, size: int) -> itertools.combinations[tuple[int, ...]]:
    return itertools.combinations(range(total), size)


def sides_of(values: tuple[int, ...], base: tuple[int, ...]) -> tuple[Floats, Floats]:
    return np.array(base, float), np.array(list((Counter(values) - Counter(base)).elements()), float)


def test_ties_count_against_the_difference() -> None:
    """28 of 30 pairs are won: of the 462 orders, 4 on either side have as many (Mann and Whitney, 1947, table I)."""
    assert rank_sum_p(np.array([0.0, 0, 0, 0, 1]), np.array([1.0, 1, 2, 2, 2, 2])) == pytest.approx(8 / 462)
    assert rank_sum_p(np.array([1.0, 2, 2, 2, 2]), np.array([1.0, 2, 2, 2])) == 1


def test_values_that_do_not_overlap_have_the_least_p_value_there_is() -> None:
    """2 of 252 orders for five a side: the fewest for which that is under 1 % (Mann and Whitney, 1947, table I)."""
    assert rank_sum_p(np.arange(5.0), np.arange(10.0, 15.0)) == pytest.approx(2 / 252)
    assert MIN_REPETITIONS == 5
    assert rank_sum_p(np.arange(4.0), np.arange(10.0, 14.0)) == pytest.approx(2 / 70)


@pytest.mark.parametrize(("distance", "spread"), [(0.03, 0.01), (0.03, 0.03), (0.01, 0.02)])
def test_as_many_repetitions_as_are_needed_find_the_difference_in_nine_trials_of_ten(
    distance: float, spread: float
) -> None:
    needed = runs_needed(distance, 2 * spread**2, level=0.01, most=1000)
    assert needed is not None
    noncentral = scipy.stats.nct(2 * needed - 2, distance / (spread * math.sqrt(2 / needed)))
    power = noncentral.sf(scipy.stats.t.ppf(0.995, 2 * needed - 2))
    assert 0.87 <= power <= 0.97


def test_more_repetitions_than_anybody_would_run_are_no_advice() -> None:
    assert runs_needed(0.001, 0.3**2, level=0.01, most=100) is None
    assert runs_needed(0.0, 0.3**2, level=0.01, most=100) is None
    assert runs_needed(0.5, 1e-6, level=0.01, most=100) == MIN_REPETITIONS
