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


def test_an_impossible_limit_gives_the_lowest_clock() -> None:
    found = settle(time_at, power_at, np.ones(1), np.full(1, 1e-4))
    assert found.clock == pytest.approx([LOWEST_CLOCK])
    own = settle(time_at, power_at, np.array([1.0, 0.2]), np.full(2, 1e-4), lowest=0.3)
    assert own.clock == pytest.approx([0.3, 0.2])
