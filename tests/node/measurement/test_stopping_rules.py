from __future__ import annotations

import random

import pytest
from scipy.stats import binom

from hpcbench.node.measurement.stopping_rules import (
    MAX_SAMPLES,
    MAX_SAMPLES_KEPT,
    MAX_TIME,
    PRECISION,
    SETTLED,
    Settings,
    Stopping,
    inflation,
    relative_width,
)

LONG = Settings(precision=0.01, min_measurements=10, min_time_s=1.0, max_time_s=60.0, max_warmup_s=0.0)


def independent(count: int, seed: int, sigma: float = 0.05) -> list[float]:
    generator = random.Random(seed)
    return [generator.lognormvariate(0, sigma) for _ in range(count)]


def autocorrelated(count: int, seed: int, memory: float = 0.9) -> list[float]:
    generator = random.Random(seed)
    level, times = 0.0, []
    for _ in range(count):
        level = memory * level + generator.gauss(0, 0.05 * (1 - memory**2) ** 0.5)
        times.append(1 + level)
    return times


def test_no_samples_are_never_enough() -> None:
    assert Stopping(LONG).reason([], 99.0) is None


def test_the_time_limit_holds_whatever_is_still_wanted() -> None:
    assert Stopping(LONG).reason([1.0], 60.0) == MAX_TIME


def test_a_record_does_not_grow_without_end() -> None:
    assert Stopping(LONG).reason([1.0] * MAX_SAMPLES_KEPT, 1.0) == MAX_SAMPLES


@pytest.mark.parametrize(("count", "elapsed_s"), [(9, 5.0), (500, 0.9)])
def test_the_minimum_of_samples_and_of_time_is_taken_first(count: int, elapsed_s: float) -> None:
    assert Stopping(LONG).reason([1.0] * count, elapsed_s) is None


def test_a_narrow_interval_is_enough_and_a_wide_one_is_not() -> None:
    assert Stopping(LONG).reason(independent(3000, 1), 5.0) == PRECISION
    assert Stopping(LONG).reason(independent(100, 1), 5.0) is None


def test_samples_that_drift_will_not_get_more_precise() -> None:
    stopping = Stopping(LONG)
    drifting = [1 + 0.0005 * place for place in range(1000)]
    assert [stopping.reason(drifting[:count], 5.0) for count in (100, 200, 400)] == [None, None, SETTLED]


def test_independent_noise_does_not_settle() -> None:
    stopping = Stopping(LONG._replace(precision=1e-6))
    times = independent(6400, 3)
    assert [stopping.reason(times[: 100 * 2**power], 5.0) for power in range(7)] == [None] * 7


def test_the_ranks_are_those_of_the_binomial_distribution() -> None:
    """For 25 values the 95 % CI of the median lies between the 8th and the 18th: Conover (1999), section 3.2."""
    low, high = int(binom.ppf(0.025, 25, 0.5)), int(binom.ppf(0.975, 25, 0.5)) + 1
    assert (low, high) == (8, 18)
    values = [100.0 + place for place in range(25)]
    width = relative_width(values)
    assert width is not None
    assert width * 112 == pytest.approx(high - low)


def test_few_samples_give_no_interval() -> None:
    assert relative_width([1.0, 2.0, 3.0]) is None


@pytest.mark.parametrize("times", [[0.0] * 50, [0.0] * 40 + [1.0] * 5])
def test_a_median_of_zero_has_no_relative_width(times: list[float]) -> None:
    assert relative_width(times) is None


def test_independent_samples_do_not_inflate_the_variance() -> None:
    inflations = [inflation(independent(800, seed), 1.0) for seed in range(50)]
    assert sum(inflations) / 50 < 1.5


def test_autocorrelated_samples_do() -> None:
    """Of a first-order autoregression with 0.9 the indicator's variance grows about twelvefold."""
    inflations = [inflation(autocorrelated(8000, seed), 1.0) for seed in range(50)]
    assert 8 < sum(inflations) / 50 < 16


@pytest.mark.parametrize("draw", [independent, autocorrelated])
def test_the_interval_is_as_wide_as_the_median_varies(draw) -> None:
    """The spread of the medians of many series, beside what one series says of it."""
    series = [sorted(draw(2000, seed)) for seed in range(200)]
    medians = [(each[999] + each[1000]) / 2 for each in series]
    inside = sorted(medians)
    spread = inside[194] - inside[4]
    widths = [relative_width(draw(2000, seed)) or 0.0 for seed in range(40)]
    assert 0.7 < sum(widths) / 40 / spread < 1.4
