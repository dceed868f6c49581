"""The interval of the median: its coverage, its neighbours in scipy, and its inner distribution, exactly."""

from __future__ import annotations

import itertools
import math
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.optimize import brentq

from hpcbench.analysis.stats import intervals
from hpcbench.analysis.stats.intervals import (
    Interval,
    interval_of_values,
    median_interval,
    minimum_samples,
    percentiles,
)

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]


def normal(generator: np.random.Generator, size: int) -> Floats:
    return generator.normal(10.0, 1.0, size)


def lognormal(generator: np.random.Generator, size: int) -> Floats:
    return generator.lognormal(0.0, 1.0, size)


def bimodal(generator: np.random.Generator, size: int) -> Floats:
    """Six steps in ten at one speed, the others at another, as where a clock changes."""
    return np.where(generator.random(size) < 0.6, generator.normal(0, 1, size), generator.normal(6, 1, size))


def _bimodal_median() -> float:
    cdf = scipy.stats.norm.cdf
    return float(brentq(lambda x: 0.6 * cdf(x) + 0.4 * cdf(x - 6) - 0.5, -5, 10))


DISTRIBUTIONS = [
    pytest.param(normal, 10.0, id="normal"),
    pytest.param(lognormal, 1.0, id="lognormal"),
    pytest.param(bimodal, _bimodal_median(), id="bimodal"),
]


def coverage(draw: Draw, truth: float, repetitions: int, between: float = 0.0, trials: int = 400) -> float:
    """How often the interval holds the true median; `between` is the spread from one run to the next."""
    generator = np.random.default_rng(20261101)
    hits = 0
    for _ in range(trials):
        shifts = generator.normal(0.0, between, repetitions)
        interval = median_interval([draw(generator, 30) + shift for shift in shifts])
        assert interval.low is not None
        assert interval.high is not None
        hits += interval.low <= truth <= interval.high
    return hits / trials


@pytest.mark.parametrize(("draw", "truth"), DISTRIBUTIONS)
def test_the_interval_of_one_repetition_holds_the_median_as_often_as_it_says(draw: Draw, truth: float) -> None:
    assert 0.92 <= coverage(draw, truth, repetitions=1) <= 0.98


@pytest.mark.parametrize("repetitions", [2, 3, 5, 6, 10])
def test_the_interval_allows_for_repetitions_that_differ_from_one_another(repetitions: int) -> None:
    """Runs differ by 2 %, measurements within a run by 1 %: the runs count, even if there are only two."""
    assert coverage(close, 1.0, repetitions, between=0.02) >= 0.90


def close(generator: np.random.Generator, size: int) -> Floats:
    return generator.normal(1.0, 0.01, size)


def test_two_to_five_repetitions_have_students_interval() -> None:
    """Of the logarithms 0, 1, 2: mean 1, standard error 1/sqrt(3), t(0.975; 2) = 4.3027 (any table of t)."""
    interval = median_interval([np.array([math.exp(value)]) for value in (0.0, 1.0, 2.0)])
    half = 4.302653 / math.sqrt(3)
    assert interval == pytest.approx((math.e, math.exp(1 - half), math.exp(1 + half)), rel=1e-6)


def test_the_interval_of_two_repetitions_may_be_wider_than_numbers_go() -> None:
    assert median_interval([np.array([1e-60]), np.array([1.0])]) == (0.5, 0.0, math.inf)


def test_repetitions_that_differ_widen_the_interval() -> None:
    generator = np.random.default_rng(1)
    alike = [normal(generator, 30) for _ in range(7)]
    apart = [samples + shift for samples, shift in zip(alike, [-4, -2, -1, 0, 1, 2, 4], strict=True)]
    assert width(apart) > 3 * width(alike)


def width(repetitions: list[Floats]) -> float:
    interval = median_interval(repetitions)
    assert interval.low is not None
    assert interval.high is not None
    return interval.high - interval.low


@pytest.mark.parametrize(("draw", "truth"), DISTRIBUTIONS)
@pytest.mark.parametrize("size", [30, 31, 200])
def test_the_interval_of_one_repetition_is_that_of_scipys_bootstrap(draw: Draw, truth: float, size: int) -> None:
    samples = draw(np.random.default_rng(size), size)
    interval = median_interval([samples])
    other = scipy.stats.bootstrap(
        (samples,), np.median, n_resamples=20_000, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    # The limits are themselves order statistics: they may differ by about one place of a thousand resamples.
    slack = 0.06 * (other.high - other.low)
    assert interval.estimate == pytest.approx(np.median(samples), rel=1e-12)
    assert interval.low == pytest.approx(other.low, abs=slack)
    assert interval.high == pytest.approx(other.high, abs=slack)


@pytest.mark.parametrize("values", [(1.0, 2.0, 4.0), (1.0, 2.0, 4.0, 8.0), (1.0, 2.0), (1.0, 2.0, 4.0, 8.0, 16.0)])
def test_inner_medians_are_distributed_as_those_of_all_resamples(values: tuple[float, ...]) -> None:
    """Every one of the n ** n resamples is written out; the drawn medians are held against them by a chi-square test.

    The seeds are fixed, so that the outcome is too.
    """
    exact = Counter(float(np.median(resample)) for resample in itertools.product(values, repeat=len(values)))
    total = sum(exact.values())
    draws = np.concatenate(
        [intervals._bootstrap_medians(np.array(values), len(values), column) for column in range(200)]
    )
    found = Counter(draws.tolist())
    assert set(found) == set(exact)
    medians = sorted(exact)
    expected = [exact[median] / total * draws.size for median in medians]
    assert scipy.stats.chisquare([found[median] for median in medians], expected).pvalue > 0.001


def test_one_sample_alone_has_no_interval() -> None:
    assert median_interval([np.array([0.25])]) == (0.25, None, None)


def test_one_sample_in_each_of_several_repetitions_has_one() -> None:
    interval = median_interval([np.array([value]) for value in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)])
    assert interval.estimate == 4.0
    assert 1.0 <= interval.low <= 2.0  # type: ignore[operator]
    assert 6.0 <= interval.high <= 7.0  # type: ignore[operator]


@pytest.mark.parametrize("repetitions", [[], [np.array([])], [np.array([1.0]), np.array([])]])
def test_no_sample_is_an_error(repetitions: list[Floats]) -> None:
    with pytest.raises(ValueError, match="at least one measurement"):
        median_interval(repetitions)


def test_the_estimate_is_the_median_of_the_medians() -> None:
    """A run with many measurements counts no more than one with few."""
    repetitions = [np.array([1.0]), np.full(1000, 9.0), np.array([2.0, 2.0, 50.0])]
    assert median_interval(repetitions).estimate == 2.0


times = st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=30).map(np.array)


@given(st.lists(times, min_size=6, max_size=9) | st.lists(times, min_size=1, max_size=1))
def test_the_interval_holds_the_estimate_and_stays_within_the_samples(repetitions: list[Floats]) -> None:
    interval = median_interval(repetitions)
    if interval.low is None or interval.high is None:
        assert len(repetitions) == 1
        assert repetitions[0].size == 1
        return
    pooled = np.concatenate(repetitions)
    assert pooled.min() <= interval.low <= interval.high <= pooled.max()
    assert pooled.min() <= interval.estimate <= pooled.max()


@given(st.lists(times, min_size=1, max_size=4), st.floats(0.1, 10))
def test_another_unit_of_time_changes_the_unit_only(repetitions: list[Floats], factor: float) -> None:
    plain = median_interval(repetitions)
    scaled = median_interval([samples * factor for samples in repetitions])
    for value, other in zip(plain, scaled, strict=True):
        assert other == (None if value is None else pytest.approx(value * factor))


@given(st.lists(times, min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_repetitions_does_not_matter_to_students_interval(
    repetitions: list[Floats], random: random.Random
) -> None:
    shuffled = list(repetitions)
    random.shuffle(shuffled)
    assert median_interval(shuffled) == median_interval(repetitions)


@pytest.mark.parametrize("repetitions", [1, 6])
def test_samples_that_drift_have_a_wider_interval_than_the_same_in_any_order(repetitions: int) -> None:
    generator = np.random.default_rng(6)
    drifting = np.linspace(1.0, 1.2, 100) + generator.normal(0, 0.01, 100)
    assert width([drifting] * repetitions) > 2 * width([generator.permutation(drifting)] * repetitions)


@pytest.mark.parametrize("count", [1, 3, 6])
def test_what_is_not_a_number_is_an_error_and_never_part_of_a_median(count: int) -> None:
    with pytest.raises(ValueError, match="not a number"):
        median_interval([np.array([1.0, np.nan, 2.0])] * count)


@pytest.mark.parametrize("count", [1, 2, 5, 6, 7])
def test_samples_of_zero_have_a_median_and_perhaps_no_interval(count: int) -> None:
    interval = median_interval([np.array([0.0, 0.0, 1e-9])] * count)
    assert interval.estimate == 0
    assert interval.low in (None, 0)


def test_equal_samples_have_an_interval_of_no_width() -> None:
    assert median_interval([np.full(10, 0.5), np.full(7, 0.5)]) == (0.5, 0.5, 0.5)


def test_the_samples_are_left_as_they_are() -> None:
    samples = np.array([3.0, 1.0, 2.0])
    median_interval([samples, samples])
    assert samples.tolist() == [3.0, 1.0, 2.0]


@pytest.mark.integration
def test_the_interval_is_the_same_every_time_and_in_every_process() -> None:
    code = (
        "import numpy as np; from hpcbench.analysis.stats.intervals import median_interval as m;"
        "g = np.random.default_rng(5); print(repr(tuple(m([g.normal(1, 1, 12) for _ in range(4)]))))"
    )
    generator = np.random.default_rng(5)
    repetitions = [generator.normal(1, 1, 12) for _ in range(4)]
    here = tuple(median_interval(repetitions))
    assert tuple(median_interval(repetitions)) == here
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == repr(here)


@pytest.mark.parametrize(("quantile", "fewest"), [(0.5, 5), (0.9, 29), (0.95, 59), (0.99, 299), (0.999, 2995)])
def test_a_percentile_needs_as_many_samples_as_wilks_asks_for(quantile: float, fewest: int) -> None:
    """His 59 and 299 are in every table; scipy has no upper limit of a quantile with one measurement less."""
    assert minimum_samples(quantile) == fewest
    for size in (fewest - 1, fewest):
        samples = np.arange(size, dtype=np.float64)
        test = scipy.stats.quantile_test(samples, q=0, p=quantile, alternative="less")
        limit = test.confidence_interval(intervals.LEVEL).high
        (found,) = percentiles(samples, [quantile])
        assert (found is None) == np.isnan(limit) == (size < fewest)


@pytest.mark.parametrize("size", [0, 1, 4])
def test_the_fewest_samples_have_no_percentile_at_all(size: int) -> None:
    assert percentiles(np.ones(size), [0.5, 0.99]) == [None, None]


@given(arrays(np.float64, st.integers(299, 400), elements=st.floats(0, 1e6)))
def test_percentiles_are_those_of_numpy(samples: NDArray[np.float64]) -> None:
    quantiles = [0.5, 0.9, 0.95, 0.99]
    expected = [float(value) for value in np.quantile(samples, quantiles)]
    assert percentiles(samples, quantiles) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_values_of_one_for_each_repetition_have_the_interval_of_their_median() -> None:
    """The 95 % limits of the resampled median of seven are order statistics (Efron, 1982, section 10.2)."""
    few = [2.0, 1.0, 4.0]
    assert interval_of_values(few) == median_interval([np.array([value]) for value in few])
    assert interval_of_values([5.0]) == (5.0, None, None)
    many = [7.0, 1.0, 3.0, 2.0, 6.0, 5.0, 4.0]
    assert interval_of_values(many) == interval_of_values(sorted(many)) == (4.0, 2.0, 6.0)
    with pytest.raises(ValueError, match="not a number"):
        interval_of_values([*many, float("nan")])


@pytest.mark.parametrize(
    ("time", "rate"),
    [
        (Interval(0.5, 0.25, 1.0), Interval(8.0, 4.0, 16.0)),
        (Interval(0.5, 0.0, math.inf), Interval(8.0, 0.0, None)),  # below the step of the clock, and without end
        (Interval(0.5, None, None), Interval(8.0, None, None)),
    ],
)
def test_the_longest_time_gives_the_lowest_rate(time: Interval, rate: Interval) -> None:
    assert time.rate(4) == rate
