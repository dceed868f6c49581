"""The effective number of measurements of a run: against all orders of a few signs, and known processes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.signal import lfilter

from hpcbench.analysis.stats.autocorrelation import CRITICAL, correlation_time, effective_size, runs_score
from hpcbench.analysis.stats.intervals import median_interval

Floats = NDArray[np.float64]


def autoregressive(generator: np.random.Generator, coefficient: float, size: int) -> Floats:
    """A Gaussian AR(1) process."""
    series: Floats = lfilter([1.0], [1.0, -coefficient], generator.normal(size=size + 200))[200:]
    return series


def true_time(coefficient: float) -> float:
    """Of the signs of a Gaussian process, by the arcsine law (Sheppard, 1899): (2 / pi) arcsin(correlation)."""
    return 1 + 2 * sum(2 / math.pi * math.asin(coefficient**lag) for lag in range(1, 2000))


@pytest.mark.parametrize(("below", "above"), [(4, 4), (3, 5), (6, 2), (1, 6)])
def test_the_score_of_the_runs_has_mean_0_and_variance_1_over_all_orders(below: int, above: int) -> None:
    size = below + above
    orders = [np.isin(np.arange(size), chosen) for chosen in itertools.combinations(range(size), above)]
    scores = [runs_score(signs) for signs in orders]
    assert np.mean(scores) == pytest.approx(0, abs=1e-12)
    assert np.std(scores) == pytest.approx(1)


@pytest.mark.parametrize("signs", [[], [True], [True, False], [False] * 5, [True] * 5])
def test_signs_of_which_no_order_has_more_runs_say_nothing(signs: list[bool]) -> None:
    assert runs_score(np.array(signs, dtype=bool)) == 0


@pytest.mark.parametrize("coefficient", [0.3, 0.6, 0.9])
def test_the_time_of_an_autoregressive_process_is_found(coefficient: float) -> None:
    generator = np.random.default_rng(1)
    series = [autoregressive(generator, coefficient, 20_000) for _ in range(20)]
    found = np.mean([correlation_time(samples > 0) for samples in series])
    assert found == pytest.approx(true_time(coefficient), rel=0.05)


def by_its_definition(signs: NDArray[np.bool_]) -> float:
    """Geyer's initial monotone sequence, from sums over all pairs of measurements that are so many apart."""
    series = signs - signs.mean()
    covariances = np.correlate(series, series, "full")[series.size - 1 :]
    total, last = 0.0, math.inf
    for lag in range(0, series.size - 1, 2):
        last = min(last, float(covariances[lag] + covariances[lag + 1]))
        if last <= 0:
            break
        total += last
    return max(1.0, 2 * total / float(covariances[0]) - 1)


@given(st.lists(st.booleans(), min_size=4, max_size=70).filter(lambda signs: len(set(signs)) == 2).map(np.array))
@example(np.repeat([True, False], 32))
@example(np.tile([True, False], 20))
def test_the_time_is_what_its_definition_says(signs: NDArray[np.bool_]) -> None:
    assert correlation_time(signs) == pytest.approx(by_its_definition(signs), rel=1e-6, abs=1e-6)


def test_independent_samples_are_worth_their_number_but_for_the_errors_of_the_test() -> None:
    generator = np.random.default_rng(2)
    runs = [generator.standard_t(2, 100) for _ in range(1000)]
    sizes = [effective_size(samples, float(np.median(samples))) for samples in runs]
    assert np.mean(np.array(sizes) == 100) == pytest.approx(0.95, abs=0.025)
    assert min(sizes) > 20


def test_samples_that_alternate_are_not_worth_more_than_they_are() -> None:
    samples = np.tile([1.0, 2.0], 50)
    assert effective_size(samples, 1.5) == 100


def test_a_machine_that_changes_its_speed_once_has_been_seen_a_few_times_only() -> None:
    samples = np.repeat([1.0, 1.4], 50) + 0.01 * np.random.default_rng(3).normal(size=100)
    assert effective_size(samples, float(np.median(samples))) < 5


@given(st.lists(st.sampled_from([1.0, 2.0, 3.0]) | st.floats(0, 10), min_size=1, max_size=60).map(np.array))
def test_a_run_is_worth_one_sample_at_least_and_all_at_most(samples: Floats) -> None:
    assert 0.999 <= effective_size(samples, float(np.median(samples))) <= samples.size


@pytest.mark.parametrize(
    ("coefficient", "size", "least"),
    [(0.0, 100, 0.92), (0.3, 100, 0.90), (0.6, 100, 0.88), (0.6, 300, 0.91), (0.9, 1000, 0.88)],
)
def test_the_interval_of_autocorrelated_samples_holds_the_median_about_as_often_as_it_says(
    coefficient: float, size: int, least: float
) -> None:
    generator = np.random.default_rng(4)
    runs = [autoregressive(generator, coefficient, size) for _ in range(400)]
    assert held(runs) >= least


def test_an_interval_that_takes_autocorrelated_samples_for_independent_would_not() -> None:
    generator = np.random.default_rng(4)
    runs = [autoregressive(generator, 0.9, 1000) for _ in range(400)]
    shuffled = [generator.permutation(samples) for samples in runs]
    assert held(shuffled) < 0.5
    assert all(runs_score(samples > np.median(samples)) > CRITICAL for samples in runs)


def held(runs: list[Floats]) -> float:
    """How often the interval of one run holds 0."""
    intervals = [median_interval([samples]) for samples in runs]
    return float(np.mean([low <= 0 <= high for _, low, high in intervals if low is not None and high is not None]))
