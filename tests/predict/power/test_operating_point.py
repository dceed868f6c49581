"""The clock that a limited device settles at."""

import numpy as np
import pytest

from hpcbench.predict.power.operating_point import LOWEST_CLOCK, settle


def time_at(clock: np.ndarray) -> np.ndarray:
    return 1.0 / clock


def power_at(time_s: np.ndarray, clock: np.ndarray) -> np.ndarray:
    return clock**2


def test_the_clock_falls_until_the_power_is_within_the_limit() -> None:
    found = settle(time_at, power_at, np.array([1.0, 1.0, 0.4]), np.array([0.25, 2.0, 0.25]))
    assert found.clock == pytest.approx([0.5, 1.0, 0.4], abs=1e-6)
    assert found.power == pytest.approx([0.25, 1.0, 0.16], abs=1e-5)
    assert found.time_s == pytest.approx([2.0, 1.0, 2.5], abs=1e-5)


def test_a_device_throttles_if_its_lowest_clock_exceeds_the_limit() -> None:
    found = settle(time_at, power_at, np.array([1.0, 0.2]), np.full(2, 1e-4), lowest=0.3)
    assert found.clock == pytest.approx([0.01, 0.01], rel=1e-3)
    assert found.time_s == pytest.approx([100.0, 100.0], rel=1e-3)
    assert (found.power <= 1e-4).all()
    assert found.in_reach.all()


def test_the_lowest_clock_does_not_matter_to_limits_that_it_meets() -> None:
    limits = np.array([0.1, 0.25, 0.8])
    clocks = [settle(time_at, power_at, np.ones(3), limits, lowest).clock for lowest in (0.05, 0.3)]
    assert clocks[0] == pytest.approx(clocks[1], abs=1e-6)


def test_a_limit_below_the_idle_power_is_out_of_reach() -> None:
    def with_idle(time_s: np.ndarray, clock: np.ndarray) -> np.ndarray:
        return 0.2 + 0.8 * clock**2

    found = settle(time_at, with_idle, np.ones(3), np.array([0.1, 0.21, 1.0]))
    assert found.in_reach.tolist() == [False, True, True]
    assert found.clock == pytest.approx([LOWEST_CLOCK, np.sqrt(0.0125), 1.0], rel=1e-4)
    assert found.power == pytest.approx([0.1, 0.21, 1.0], rel=1e-4)
