"""Training jobs under power limits."""

import json

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.power.jobs import model as jobs
from hpcbench.predict.power.jobs.curve import JobCurve, LimitedRuns, fit
from hpcbench.predict.tables import networks as table
from tests.predict.power.made_up_power import DEVICES, lists, unfitted

REAL = JobCurve(share=0.9, idle=0.2, memory=0.1, knee=0.6, floor=0.65, cap=0.98)
LIMITS = np.array([100.0, 125.0, 150.0, 175.0, 200.0, 250.0])


def epochs(device: str, epoch_s: float = 1000.0, demand: float = 0.95, network: str = "net") -> pd.DataFrame:
    board = DEVICES[device].board_power_w
    point = REAL.run(np.full(len(LIMITS), demand), LIMITS / 250.0)
    free = REAL.run(np.array([demand]), np.ones(1))
    rows = pd.DataFrame(
        {"device": device, "network": network, "data": "set", "optimizer": "adam", "batch_size": 32.0,
         "power_limit_w": LIMITS / 250.0 * board, "unit": table.EPOCH, "phase": table.TRAINING,
         "time_s": epoch_s * point.time_s / free.time_s, "power_w": point.power * board}
    )  # fmt: skip
    return table.complete(rows)


def test_a_limit_below_the_demand_costs_time_and_one_above_does_not() -> None:
    found = REAL.run(np.array([0.4, 0.9, 0.9]), np.array([0.5, 1.0, 0.5]))
    assert found.clock[:2] == pytest.approx([1.0, 1.0])
    assert found.clock[2] < 0.95
    assert found.power[2] == pytest.approx(0.98 * 0.5, rel=1e-3)
    assert found.time_s[2] == pytest.approx(1 - 0.9 + 0.9 / found.clock[2])


def test_a_fit_reproduces_the_costs_of_limits() -> None:
    demand, limit = np.full(6, 0.95), LIMITS / 250.0
    point, free = REAL.run(demand, limit), REAL.run(demand, np.ones(6))
    runs = LimitedRuns(demand, limit, point.time_s / free.time_s, point.power)
    found = fit(runs, JobCurve())
    again = found.run(demand, limit)
    assert again.time_s == pytest.approx(runs.time, rel=0.08)
    assert again.power == pytest.approx(runs.power, rel=0.05)


def test_a_measured_job_carries_over_to_another_device() -> None:
    model = jobs.fit(epochs("card"), DEVICES)
    asked = epochs("other").assign(time_s=np.nan, power_w=np.nan)
    found = model.estimate(asked, DEVICES)
    assert (found["time_s"].reason == "").all()
    # Twice the rates and the bandwidth: half the time, before limits.
    assert np.exp(found["time_s"].log_value[-1]) == pytest.approx(500.0, rel=0.05)
    assert np.exp(found["power_w"].log_value[-1]) == pytest.approx(0.95 * 400.0, rel=0.05)


def test_no_job_exceeds_its_limit_and_one_below_the_idle_power_is_refused() -> None:
    asked = epochs("card").assign(power_limit_w=[250.0, 100.0, 55.0, 40.0, 30.0, 10.0])
    found = jobs.JobPower(typical=REAL).estimate(asked.assign(network="unknown"), DEVICES)["power_w"]
    limits = asked["power_limit_w"].to_numpy()
    reached = found.reason == ""
    assert (np.exp(found.log_value[reached]) <= limits[reached]).all()
    assert set(found.reason[~reached]) == {"the power limit is below the predicted idle power"}
    assert reached.tolist() == [True, True, True, False, False, False]


def test_an_unknown_job_has_no_time_but_a_best_limit() -> None:
    model = jobs.fit(epochs("card"), DEVICES)
    asked = epochs("card", network="unknown")
    found = model.estimate(asked, DEVICES)
    assert "its size is unknown" in found["time_s"].reason[0]
    assert found["power_w"].reason[0] == ""
    ratio = model.relative(asked, DEVICES).assign(power_limit_w=asked["power_limit_w"])
    chosen = ratio.loc[ratio["energy"].idxmin(), "power_limit_w"]
    energy = (asked["time_s"] * asked["power_w"]).to_numpy()
    assert energy[list(asked["power_limit_w"]).index(chosen)] <= 1.05 * energy.min()


def test_a_stored_model_predicts_the_same() -> None:
    rows = pd.concat([epochs("card"), epochs("other", 600.0)], ignore_index=True)
    model = jobs.fit(rows, DEVICES)
    again = jobs.JobPower.from_json(json.loads(json.dumps(model.to_json())))
    for quantity, each in model.estimate(rows, DEVICES).items():
        assert again.estimate(rows, DEVICES)[quantity].log_value == pytest.approx(each.log_value)
        assert again.half_width(rows, quantity) == pytest.approx(model.half_width(rows, quantity))


def test_without_data_only_ratios_are_predicted() -> None:
    found = jobs.fit(epochs("card").iloc[:0], DEVICES).estimate(epochs("card"), DEVICES)
    assert (found["energy_j"].reason != "").all()
    assert np.isfinite(found["power_w"].log_value).all()


def test_without_data_a_job_may_draw_a_fifth_of_the_limit_and_never_more_than_it() -> None:
    found = unfitted().predict_networks(epochs("card"), lists(), DEVICES)["power_w"]
    assert found["predicted"].iloc[-1] == pytest.approx(0.88 * 250.0, rel=0.01)
    assert found["lower"].iloc[-1] < 0.2 * 250.0
    assert found["upper"].to_numpy() == pytest.approx(LIMITS)


def test_a_network_without_measurements_has_the_interval_of_no_data() -> None:
    rows = pd.concat([epochs("card"), epochs("other", 600.0)], ignore_index=True)
    model = jobs.fit(rows, DEVICES, jobs.left_out_devices(rows, DEVICES))
    known, new = (model.half_width(epochs("card", network=name), "power_w") for name in ("net", "unknown"))
    assert new == pytest.approx(jobs.JobPower().half_width(epochs("card"), "power_w"))
    assert (known < 0.5 * new).all()


def test_jobs_of_unknown_batch_size_have_the_mean_of_the_measured_ones() -> None:
    small, large = epochs("card", 1000.0), epochs("card", 4000.0).assign(batch_size=64.0)
    model = jobs.fit(pd.concat([small, large], ignore_index=True), DEVICES)
    free = small.iloc[-1:]
    found = {
        size: float(np.exp(model.estimate(free.assign(batch_size=size), DEVICES)["time_s"].log_value[0]))
        for size in (32.0, 64.0, np.nan)
    }
    assert list(found.values()) == pytest.approx([1000.0, 4000.0, 2000.0], rel=1e-3)
    unknown = jobs.fit(small.assign(batch_size=np.nan), DEVICES).estimate(free, DEVICES)
    assert np.exp(unknown["time_s"].log_value) == pytest.approx([1000.0], rel=1e-3)


def test_a_limit_of_zero_watts_is_refused_and_not_fitted() -> None:
    none = epochs("card", 4000.0).assign(power_limit_w=0.0)
    model = jobs.fit(pd.concat([epochs("card"), none], ignore_index=True), DEVICES)
    assert model.to_json() == jobs.fit(epochs("card"), DEVICES).to_json()
    found = model.estimate(none, DEVICES)
    assert {reason for each in found.values() for reason in each.reason} == {
        "the clock or the power limit is not above 0"
    }
