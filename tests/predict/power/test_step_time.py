"""The time of a step over clocks."""

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.power.activity import COLUMNS
from hpcbench.predict.power.step_time import PER_KERNEL_S, StepTime, fit

RNG = np.random.default_rng(0)


def activities(count: int) -> pd.DataFrame:
    found = pd.DataFrame(RNG.uniform(1e-3, 1e-1, size=(count, len(COLUMNS))), columns=list(COLUMNS))
    return found.assign(kernels=100.0)


def test_a_step_that_the_device_bounds_has_parts_that_scale_with_the_clock() -> None:
    one = activities(1).assign(product_s=0.010, vector_product_s=0.0, row_wise_s=0.004, kernels=0.0)
    model = StepTime(np.array([1.5, 1.0, 0.5, 1.0, 0.25]), host_s=1e-6)
    # (1.5 x 10 ms + 0.5 x 4 ms) / 0.5 + 0.25 x 4 ms = 35 ms.
    assert model.seconds(one, np.array([0.5])) == pytest.approx([0.035])


def test_a_step_that_the_host_bounds_does_not_depend_on_the_clock() -> None:
    one = activities(1).assign(product_s=0.0, vector_product_s=0.0, row_wise_s=1e-6, kernels=1000.0)
    model = StepTime(np.array([1.0, 1.0, 1.0, 0.1, 0.0]), host_s=30e-6)
    assert model.seconds(one, np.array([0.5, 1.0])[:1]) == pytest.approx([0.030], rel=0.01)
    assert PER_KERNEL_S < 30e-6


def test_given_launches_hide_lower_clocks_until_the_device_is_slower() -> None:
    clock = np.array([1.0, 0.6, 0.4, 0.25])
    work = pd.concat([activities(1)] * 4).assign(product_s=0.010, vector_product_s=0.0, row_wise_s=0.0, kernels=100.0)
    model = StepTime(np.array([1.0, 1.0, 1.0, 0.0, 0.0]), host_s=10e-6)
    # The device takes 10 ms / f, and the host 20 ms: the device is slower below half the boost clock.
    found = model.seconds(work, clock, np.full(4, 2.0))
    assert found == pytest.approx([0.020, 0.020, 0.025, 0.040], rel=0.03)
    of_device = model.seconds(work, clock, np.full(4, 0.5))
    assert of_device / of_device[0] == pytest.approx(1 / clock, rel=1e-3)
    # A host of 40 us per kernel needs twice the time that the given launches assume.
    slower = StepTime(model.coefficients, host_s=40e-6).seconds(work, clock, np.full(4, 2.0))
    assert slower == pytest.approx([0.040, 0.040, 0.040, 0.040 * 2 ** (1 / 8)], rel=0.01)


def test_steps_without_given_launches_have_those_of_the_device() -> None:
    work, clock = activities(3), np.array([1.0, 0.7, 0.5])
    model = StepTime(np.array([1.5, 1.0, 0.5, 1.0, 0.25]), host_s=1e-3)
    assert model.seconds(work, clock, np.full(3, np.nan)).tolist() == model.seconds(work, clock).tolist()


def test_a_fit_finds_coefficients_and_host_of_made_up_steps() -> None:
    work = pd.concat([activities(60), activities(20) * 1e-3], ignore_index=True).assign(kernels=200.0)
    clock = RNG.uniform(0.4, 1.0, size=len(work))
    real = StepTime(np.array([1.6, 1.1, 0.6, 1.2, 0.9]), host_s=50e-6)
    time_s = real.seconds(work, clock)
    found = fit(work, time_s, clock, np.ones(len(work)), strength=1e-3)
    assert found.host_s == pytest.approx(50e-6, rel=0.15)
    assert found.seconds(work, clock) == pytest.approx(time_s, rel=0.1)
