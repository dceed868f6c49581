"""The distribution of single steps: its function, and intervals of quantiles that hold what they promise."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy.special import ndtri

from hpcbench.analysis.stats.intervals import Floats
from hpcbench.analysis.stats.quantiles import (
    MAX_POINTS,
    curve,
    effective_count,
    order_limits,
    plausible_quantiles,
    quantiles,
)


def below(size: int, rank: int, part: Fraction) -> Fraction:
    """The probability that fewer than `rank` of so many measurements lie below the quantile, added up."""
    return sum((comb(size, k) * part**k * (1 - part) ** (size - k) for k in range(rank)), Fraction(0))


def independent(size: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).lognormal(-4, 0.5, size)


def test_the_curve_says_which_part_takes_no_longer() -> None:
    times, parts = curve([np.array([3.0, 1.0, 2.0]), np.array([4.0])])
    assert times.tolist() == [1, 2, 3, 4]
    assert parts.tolist() == [0.25, 0.5, 0.75, 1]


def test_a_curve_of_many_samples_has_both_ends_and_true_points() -> None:
    ordered = np.arange(10_001) / 7.0
    times, parts = curve([np.random.default_rng(1).permutation(ordered)])
    assert (times[0], times[-1], parts[-1]) == (ordered[0], ordered[-1], 1)
    assert len(times) == MAX_POINTS
    assert parts.tolist() == [(ordered <= time).mean() for time in times]


@pytest.mark.parametrize(
    ("size", "low", "high"),
    [(6, 1, 6), (8, 1, 8), (9, 2, 8), (10, 2, 9), (15, 4, 12), (20, 6, 15), (25, 8, 18), (30, 10, 21), (50, 18, 33)],
)
def test_the_interval_of_a_median_is_that_of_the_sign_test(size: int, low: int, high: int) -> None:
    """Ranks from the tables of the sign test at 5 % (Conover, 1999, "Practical Nonparametric Statistics")."""
    assert order_limits(size, 0.5) == (low, high)


@pytest.mark.parametrize("part", [Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)])
@pytest.mark.parametrize("size", [40, 100, 423])
def test_ranks_leave_no_more_than_a_fortieth_on_each_side_and_are_the_closest(size: int, part: Fraction) -> None:
    """Hahn and Meeker, 1991, section 5.2, in whole numbers."""
    low, high = order_limits(size, float(part))
    tail = Fraction(25, 1000)
    assert below(size, low, part) <= tail < below(size, low + 1, part)
    if high <= size:
        assert 1 - below(size, high, part) <= tail < 1 - below(size, high - 1, part)
    else:
        assert 1 - below(size, size, part) > tail, "the largest measurement would have done"


@pytest.mark.parametrize(("size", "part"), [(25, 0.5), (200, 0.9), (1000, 0.99)])
def test_intervals_hold_the_quantile_as_often_as_they_promise(size: int, part: float) -> None:
    generator = np.random.default_rng(3)
    low, high = order_limits(size, part)
    samples = np.sort(generator.exponential(size=(2000, size)), axis=1)
    truth = -math.log(1 - part)
    held = ((samples[:, low - 1] <= truth) & (truth <= samples[:, high - 1])).mean()
    assert 0.945 < held < 0.985


def test_a_single_run_has_the_interval_of_its_samples() -> None:
    """Of the ranks 84 and 96 for the p90 of 100 measurements, by the binomial distribution."""
    samples = np.random.default_rng(0).permutation(np.arange(1, 101) / 1000)
    found = dict(quantiles([samples]))
    assert found[0.9].low == pytest.approx(0.084)
    assert found[0.9].high == pytest.approx(0.096)
    assert found[0.9].estimate == pytest.approx(np.quantile(samples, 0.9))
    assert 0.99 not in found, "no 100 measurements say how long one of a hundred takes"


@pytest.mark.parametrize("size", [41, 90, 94, 137])
def test_no_rank_is_off_by_one_for_the_rounding_of_a_division(size: int) -> None:
    samples = np.random.default_rng(0).permutation(np.arange(1, size + 1.0))
    interval = quantiles([samples], [0.5])[0].interval
    low, high = order_limits(size, 0.5)
    assert (interval.low, interval.high) == (low, high)


def test_no_sample_may_be_high_enough() -> None:
    few, enough = (quantiles([independent(size)], [0.99])[0].interval for size in (300, 400))
    assert few.high == math.inf
    assert few.low is not None
    assert few.low <= few.estimate
    assert enough.high == np.sort(independent(400))[-1]


def test_five_samples_have_no_interval_of_their_median() -> None:
    assert quantiles([independent(5)], [0.5])[0].interval[1:] == (None, None)


def test_autocorrelated_samples_count_as_fewer() -> None:
    noise = np.random.default_rng(2).normal(size=2000)
    walk = np.convolve(noise, 0.95 ** np.arange(200))[:2000]
    dependent = np.exp(0.1 * walk)
    shuffled = np.random.default_rng(3).permutation(dependent)
    widths = [
        interval.high - interval.low
        for samples in (dependent, shuffled)
        for _, interval in quantiles([samples], [0.5])
        if interval.low is not None and interval.high is not None
    ]
    assert widths[0] > 3 * widths[1]


@pytest.mark.parametrize(("runs", "size", "part"), [(6, 200, 0.5), (20, 300, 0.99), (6, 100, 0.9), (3, 500, 0.9)])
@pytest.mark.parametrize("between", [0.0, 0.05], ids=["equal runs", "runs that differ"])
def test_intervals_over_runs_hold_the_quantile_as_often(runs: int, size: int, part: float, between: float) -> None:
    generator, within = np.random.default_rng(5), 0.2
    truth = math.exp(math.hypot(between, within) * ndtri(part))
    known = []
    for _ in range(300):
        each = np.exp(between * generator.normal(size=(runs, 1)) + within * generator.normal(size=(runs, size)))
        known.append(quantiles(list(each), [part])[0].interval)
    limited = [(low, high) for _, low, high in known if low is not None and high is not None]
    assert len(limited) > 0.8 * len(known)
    assert np.mean([low <= truth <= high for low, high in limited]) > 0.92


def test_runs_that_differ_are_worth_less_than_their_samples() -> None:
    """In six runs 2 or 8 of ten lie below: the variance of the part below is 6/5 * 54/60^2, which 0.25/0.018 = 13.9
    measurements have; Student's quantiles of 59 and 5 degrees of freedom, 2.001 and 2.571, leave 8.4 of them."""
    few, many = (np.random.default_rng(1).permutation([1.0] * below + [3.0] * (10 - below)) for below in (2, 8))
    assert effective_count([few, many] * 3, 0.5, 2.0) == 8
    equal = [independent(500, seed) for seed in range(6)]
    quantile = float(np.quantile(np.concatenate(equal), 0.5))
    assert effective_count(equal, 0.5, quantile) <= 3000 * (1.961 / 2.571) ** 2


def test_plausible_quantiles_spread_as_their_interval() -> None:
    runs = [independent(400, seed) for seed in range(6)]
    interval = quantiles(runs, [0.9])[0].interval
    values = plausible_quantiles(runs, 0.9)
    assert values is not None
    assert interval.low is not None
    assert np.quantile(values, [0.025, 0.975]) == pytest.approx([interval.low, interval.high], rel=0.01)
    assert plausible_quantiles([independent(20)], 0.99) is None, "twenty measurements have none that is high enough"


def test_an_interval_holds_its_estimate() -> None:
    """Runs whose numbers of measurements differ: all measurements together say something else than the runs."""
    runs = [independent(1000, 1), *(10 * independent(10, seed) for seed in range(2, 5))]
    for _, (estimate, low, high) in quantiles(runs):
        assert low is not None
        assert high is not None
        assert low <= estimate <= high
