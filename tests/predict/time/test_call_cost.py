"""The cost of a call."""

import numpy as np
import pytest

from hpcbench.predict.time import call_cost

FLOOR, EVENTS = np.full(3, 30e-6), np.full(3, 10e-6)


def test_short_kernels_take_the_floor_and_long_ones_their_time_and_the_events() -> None:
    found = call_cost.measured(np.array([1e-6, 20e-6, 1.0]), FLOOR, EVENTS)
    assert found == pytest.approx([30e-6, 30e-6 * 2 ** (1 / 16), 1.00001])


def test_the_kernel_is_the_inverse() -> None:
    device = np.array([25e-6, 100e-6, 1e-2])
    assert call_cost.kernel(call_cost.measured(device, FLOOR, EVENTS), FLOOR, EVENTS) == pytest.approx(device)


def test_sensitivity_is_the_derivative() -> None:
    device = np.array([1e-6, 25e-6, 1e-2])
    step = 1e-6
    change = np.log(call_cost.measured(device * (1 + step), FLOOR, EVENTS) / call_cost.measured(device, FLOOR, EVENTS))
    assert call_cost.sensitivity(device, FLOOR, EVENTS) == pytest.approx(change / step, rel=1e-3, abs=1e-6)


def test_sensitivity_to_the_floor_is_the_derivative() -> None:
    device = np.array([1e-6, 20e-6, 1e-2])
    step = 1e-6
    change = np.log(call_cost.measured(device, FLOOR * (1 + step), EVENTS) / call_cost.measured(device, FLOOR, EVENTS))
    found = call_cost.floor_sensitivity(device, FLOOR, EVENTS)
    assert found == pytest.approx(change / step, rel=1e-3, abs=1e-6)


def test_events_take_at_most_a_fraction_of_the_floor() -> None:
    device, floor, events = np.full(1, 1e-9), np.full(1, 8e-6), np.full(1, 17e-6)
    assert call_cost.measured(device, floor, events) == pytest.approx(8e-6, rel=1e-3)
    step = 1e-6
    for kernel in (device, np.full(1, 5e-6)):
        change = np.log(
            call_cost.measured(kernel, floor * (1 + step), events) / call_cost.measured(kernel, floor, events)
        )
        assert call_cost.floor_sensitivity(kernel, floor, events) == pytest.approx(change / step, rel=1e-3)


def test_a_call_at_its_floor_has_the_longest_possible_kernel() -> None:
    found = call_cost.longest_kernel(np.array([30e-6, 60e-6]), FLOOR[:2], EVENTS[:2])
    assert found[0] == pytest.approx(1.1 * 30e-6 * (1 - 1.1**-16) ** (1 / 16) - 10e-6)
    assert found[1] == call_cost.kernel(np.array([60e-6]), FLOOR[:1], EVENTS[:1])
