"""The energy of operators on measured devices."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.operators.roofline import Bounds
from hpcbench.predict.power import model as power
from hpcbench.predict.power.operator_energy import OperatorEnergy, log_reference
from tests.predict.power.made_up_power import DEVICES, lists, operators, steps

pytest.importorskip("lightgbm")


@pytest.fixture(scope="module")
def fitted() -> power.PowerModel:
    return power.fit(operators(("card",), count=800), steps(("card",)), lists(), DEVICES)


def test_the_reference_is_the_time_of_the_roofline_at_the_board_power() -> None:
    bound = Bounds(np.array([3e-6]), np.array([0.0]))
    assert np.exp(log_reference(bound, DEVICES["card"])) == pytest.approx([5e-6 * 250.0])


def test_the_energy_of_a_measured_device_does_not_follow_a_wrong_time(fitted: power.PowerModel) -> None:
    rows = operators(("card",), count=200, seed=7)
    times = rows["time_s"].to_numpy()
    real = rows["power_w"].to_numpy() * times
    found = fitted.predict_operators(rows, DEVICES, 1.5 * times, np.full(len(rows), 0.2))["energy_j"]
    assert np.median(np.abs(np.log(found["predicted"] / real))) < 0.1
    measured = fitted.predict_operators(rows, DEVICES, times, np.zeros(len(rows)))
    product = measured["power_w"]["predicted"] * times
    assert measured["energy_j"]["predicted"].to_numpy() == pytest.approx(product.to_numpy())


@pytest.mark.parametrize("state", [{"clock_mhz": 500.0}, {"power_limit_w": 100.0}])
def test_rows_in_lower_states_do_not_train_models_of_shapes(fitted: power.PowerModel, state: dict[str, float]) -> None:
    default = operators(("card",), count=800)
    slow = default.assign(time_s=3 * default["time_s"], power_w=0.5 * default["power_w"], **state)
    both = power.fit(pd.concat([default, slow], ignore_index=True), steps(("card",)), lists(), DEVICES)
    assert both.operators.learned == fitted.operators.learned
    assert both.operators.energy == fitted.operators.energy


def test_other_devices_kinds_and_states_have_no_own_energy(fitted: power.PowerModel) -> None:
    energy = fitted.operators.energy
    rows = operators(("card",), count=2)
    assert np.isfinite(energy.log_joules(rows, DEVICES)).all()
    for asked in (
        rows.assign(device="other"),
        rows.assign(kind="softmax"),
        rows.assign(clock_mhz=500.0),
        rows.assign(power_limit_w=100.0),
    ):
        assert np.isnan(energy.log_joules(asked, DEVICES)).all()


def test_the_stored_model_is_the_same(fitted: power.PowerModel) -> None:
    energy, rows = fitted.operators.energy, operators(("card",), count=6)
    again = OperatorEnergy.from_json(json.loads(json.dumps(energy.to_json())))
    assert again.log_joules(rows, DEVICES) == pytest.approx(energy.log_joules(rows, DEVICES))
    assert again.half_width(rows) == pytest.approx(energy.half_width(rows))
    assert np.isnan(OperatorEnergy().half_width(rows)).all()
