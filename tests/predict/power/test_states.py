"""Errors of ratios between clocks and limits, from steps of networks and from training jobs."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from hpcbench.predict.choice.states import KERNELS, SEEN, UNSEEN
from hpcbench.predict.power import model as power
from tests.predict.power.jobs.test_model import epochs
from tests.predict.power.made_up_power import DEVICES, lists, operators, steps


def test_states_of_a_measured_device_are_calibrated_on_other_networks() -> None:
    model = power.fit(operators(("card",)), steps(("card",)), lists(), DEVICES)
    assert model.states.devices == {"card"}
    assert set(model.states.calibrations or {}) == {SEEN}
    # The clocks of the made-up networks follow the model, up to the noise of its fit.
    assert model.states.half_width("card", KERNELS, 0.2, -0.4) < 0.05


def test_jobs_of_other_devices_calibrate_those_without_measured_states() -> None:
    jobs = pd.concat([epochs("card"), epochs("other", 600.0)], ignore_index=True)
    model = power.fit(operators(("card",)).iloc[:0], jobs, lists(), DEVICES)
    assert set(model.states.calibrations or {}) == {UNSEEN}
    assert model.states.half_width("card", KERNELS, 0.2, -0.4) < 0.15


def test_an_error_at_low_limits_widens_the_interval() -> None:
    jobs = pd.concat([epochs("card"), epochs("other", 600.0)], ignore_index=True)
    low = (jobs["device"] == "card") & (jobs["power_limit_w"] <= 150)
    before, after = (
        power.fit(operators(("card",)).iloc[:0], rows, lists(), DEVICES).states.half_width("x", KERNELS, 0.2, -0.4)
        for rows in (jobs, jobs.assign(time_s=jobs["time_s"].where(~low, 1.5 * jobs["time_s"])))
    )
    assert after > before + 0.1


def test_a_host_that_launches_slowly_is_found() -> None:
    model = power.fit(operators(("card",)), steps(("card",)), lists(), DEVICES)
    work = power.of_lists(lists(), steps(("card",), (1000,)), DEVICES)
    times = model.fleet.of("card").steps
    assert not replace(times, host_s=1e-9).is_launch_bound(work).any()
    assert replace(times, host_s=1.0).is_launch_bound(work).all()


@pytest.mark.parametrize("device", ["card", "unknown"])
def test_stored_models_keep_the_errors_of_states(device: str) -> None:
    model = power.fit(operators(("card",)), steps(("card",)), lists(), DEVICES)
    again = power.PowerModel.from_json(model.to_json())
    assert again.states.half_width(device, KERNELS, 0.2, -0.4) == model.states.half_width(device, KERNELS, 0.2, -0.4)
