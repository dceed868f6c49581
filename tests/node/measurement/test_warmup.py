from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, theilslopes

from hpcbench.core.samples import medians_of_parts
from hpcbench.node.measurement.warmup import MIN_VALUES, has_trend, is_steady, mann_kendall, relative_change, trend

TIMES = st.lists(st.floats(1e-3, 10.0).map(lambda value: round(value, 2) + 0.01), min_size=5, max_size=30)


@given(TIMES)
def test_the_score_and_its_variance_give_kendalls_tau_and_its_p(values: list[float]) -> None:
    """Against scipy, whose p-value is without the continuity correction that Mann and Kendall make."""
    score, variance = mann_kendall(values)
    if variance <= 0:
        return
    theirs = kendalltau(range(len(values)), values, method="asymptotic")
    pairs = len(values) * (len(values) - 1) / 2
    ties = sum(values.count(value) * (values.count(value) - 1) / 2 for value in set(values))
    assert score / (pairs * (pairs - ties)) ** 0.5 == pytest.approx(theirs.statistic)


def test_the_variance_is_that_of_kendall() -> None:
    """Kendall (1975), chapter 4: n (n - 1) (2 n + 5) / 18; for 10 values 125. Ties take from it."""
    assert mann_kendall(list(range(10))) == (45, 125.0)
    assert mann_kendall([1, 1, 2, 3]) == (5, pytest.approx((4 * 3 * 13 - 2 * 1 * 9) / 18))


@given(TIMES)
def test_the_slope_is_that_of_theil_and_sen(values: list[float]) -> None:
    theirs = theilslopes(values).slope * (len(values) - 1) / sorted(values)[len(values) // 2]
    middle = sorted(values)
    median = (middle[(len(values) - 1) // 2] + middle[len(values) // 2]) / 2
    assert relative_change(values) == pytest.approx(theirs * sorted(values)[len(values) // 2] / median)


def test_five_values_in_order_are_a_trend_and_four_cannot_be() -> None:
    assert has_trend([1, 2, 3, 4, 5])
    assert has_trend([5, 4, 3, 2, 1])
    assert not has_trend([1, 2, 3, 4])


def noise(count: int, seed: int, sigma: float = 0.05) -> list[float]:
    generator = random.Random(seed)
    return [generator.lognormvariate(0, sigma) for _ in range(count)]


def test_noise_without_a_trend_is_called_steady_as_often_as_the_level_says() -> None:
    steady = sum(is_steady(noise(100, seed), tolerance=0.0) for seed in range(400))
    assert 0.92 <= steady / 400 <= 0.98


@pytest.mark.parametrize("shape", ["falling", "rising", "one step down"])
def test_a_trend_is_noticed_through_noise(shape: str) -> None:
    levels = {
        "falling": [1.5 - 0.5 * step / 200 for step in range(200)],
        "rising": [1.0 + 0.3 * step / 200 for step in range(200)],
        "one step down": [1.4] * 150 + [1.0] * 50,
    }[shape]
    noticed = sum(
        not is_steady([level * noisy for level, noisy in zip(levels, noise(200, seed), strict=True)], 0.01)
        for seed in range(50)
    )
    assert noticed >= 48


def test_the_trend_is_how_far_the_times_have_gone() -> None:
    assert trend([1.0 + 0.001 * step for step in range(101)]) == pytest.approx(0.1 / 1.05, rel=0.05)
    assert trend([1.0, 1.1, 0.9, 1.05] * 11) == 0.0


def test_a_trend_that_does_not_matter_is_steady() -> None:
    times = [1.0 - 1e-5 * step for step in range(100)]
    assert is_steady(times, tolerance=0.01)
    assert not is_steady(times, tolerance=1e-5)


def test_what_was_slow_long_ago_does_not_count() -> None:
    assert is_steady([9.0] * 40 + [1.0, 1.1, 0.9, 1.05] * 11, 0.01)


def test_too_few_times_are_not_steady_yet() -> None:
    assert not is_steady([1.0] * (MIN_VALUES - 1), 0.01)
    assert is_steady([1.0] * MIN_VALUES, 0.01)


@pytest.mark.parametrize("times", [[0.0] * 20, [0.0, 1.0] * 10])
def test_zeros_are_no_error(times: list[float]) -> None:
    assert is_steady(times, 0.01)


def test_parts_keep_the_order_and_use_every_value() -> None:
    assert medians_of_parts([1, 2, 3], 5) == [1, 2, 3]
    assert medians_of_parts(list(range(10)), 5) == [0.5, 2.5, 4.5, 6.5, 8.5]
