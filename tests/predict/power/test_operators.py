"""Intervals of the power and energy of operators."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.calibration.intervals import ALL, Calibration
from hpcbench.predict.power import model as power
from hpcbench.predict.power.learned import Learned
from hpcbench.predict.power.operators import UNSEEN, OperatorPower, limits_w
from tests.predict.power.made_up_power import DEVICES, lists, operators, steps, unfitted

HALF = 0.5


@pytest.fixture(scope="module")
def fitted() -> power.PowerModel:
    model = power.fit(operators(("card",)), steps(("card",)), lists(), DEVICES)
    calibrations = {UNSEEN: Calibration(2, 0.1, {ALL: 1.5})}
    return replace(model, operators=replace(model.operators, calibrations=calibrations))


def test_switching_energy_does_not_depend_on_the_time(fitted: power.PowerModel) -> None:
    # P = idle + energy / time: with idle 0.23 (idle and clock) of a power of 0.46 at the middle of a narrow interval,
    # d log P / d log t = -(0.46 - 0.23) / 0.46 = -0.5.
    rows = operators(("other",), count=1)
    coefficients = fitted.fleet.typical_operators.coefficients
    idle = float(coefficients[0] + coefficients[1])
    times = np.array([1.0])
    at_one = fitted.operators.estimate(rows, DEVICES, times).log_value
    switched = np.exp(at_one) / DEVICES["other"].board_power_w - idle
    middle = switched / idle  # the time at which idle and switching power are equal
    found = fitted.operators.elasticity(rows, DEVICES, middle, np.array([0.01]))
    assert found == pytest.approx([-0.5], abs=0.01)


def test_a_measured_time_and_a_measured_device_have_no_elasticity(fitted: power.PowerModel) -> None:
    rows = operators(("other",), count=4)
    assert not fitted.operators.elasticity(rows, DEVICES, rows["time_s"].to_numpy(), np.zeros(4)).any()
    own = OperatorPower(fitted.fleet, {"other": Learned({}, {}, frozenset())})
    assert not own.elasticity(rows, DEVICES, rows["time_s"].to_numpy(), np.full(4, HALF)).any()


def test_without_data_the_power_does_not_balance_the_time() -> None:
    rows = operators(("other",), count=4)
    times = rows["time_s"].to_numpy()
    assert not unfitted().operators.elasticity(rows, DEVICES, times, np.full(4, HALF)).any()


def test_without_data_errors_of_time_and_power_add_up() -> None:
    rows = operators(("other",), count=4)
    found = unfitted().predict_operators(rows, DEVICES, rows["time_s"].to_numpy(), np.full(4, HALF))
    below = {name: np.log(each["predicted"] / each["lower"]) for name, each in found.items()}
    assert below["energy_j"].to_numpy() == pytest.approx(below["power_w"].to_numpy() + HALF)


def test_energy_is_more_certain_than_independent_errors(fitted: power.PowerModel) -> None:
    rows = operators(("other",), count=40)
    found = fitted.predict_operators(rows, DEVICES, rows["time_s"].to_numpy(), np.full(len(rows), HALF))
    below = {name: np.log(each["predicted"] / each["lower"]) for name, each in found.items()}
    assert (below["energy_j"] < np.hypot(below["power_w"], HALF)).all()
    assert (below["energy_j"] >= below["power_w"]).all()


def test_a_kind_that_was_not_measured_on_a_measured_device_is_as_uncertain_as_on_others() -> None:
    rows = operators(("card", "other"), count=600)
    products = rows[(rows["kind"] == "gemm") | (rows["device"] == "other")].reset_index(drop=True)
    model = power.fit(products, steps(("card",)), lists(), DEVICES).operators
    asked = operators(("card",), count=2)
    of_gemm, of_pointwise = model.spread(asked)
    assert of_gemm < of_pointwise == model.spread(asked.assign(device="unknown"))[1]
    measured = model.half_width(asked)
    elsewhere = replace(model, learned={}).half_width(asked)
    assert measured[1] == pytest.approx(elsewhere[1])
    assert measured[0] != pytest.approx(elsewhere[0])


def test_no_power_is_above_the_limit(fitted: power.PowerModel) -> None:
    rows = operators(("other",), count=40).assign(power_limit_w=200.0)
    times = rows["time_s"].to_numpy()
    found = fitted.predict_operators(rows, DEVICES, times, np.full(len(rows), HALF))
    watts, joules = found["power_w"], found["energy_j"]
    assert watts["upper"].max() == pytest.approx(200.0)
    assert (joules["upper"] <= 200.0 * times * np.exp(HALF) + 1e-12).all()
    assert (watts["upper"] >= watts["predicted"]).all()


def test_a_limit_is_at_most_the_board_power() -> None:
    rows = operators(("card",), count=3).assign(power_limit_w=[100.0, 900.0, np.nan])
    assert limits_w(rows, DEVICES) == pytest.approx([100.0, 250.0, 250.0])


def test_without_data_attention_is_least_certain() -> None:
    rows = operators(("other",), count=2)
    rows["kind"] = ["gemm", "attention"]
    found = unfitted().operators.half_width(rows)
    # 0.38, the expected error, times 2.1 and 2.7.
    assert found == pytest.approx([0.798, 1.026])


def test_a_refused_row_has_no_interval(fitted: power.PowerModel) -> None:
    rows = operators(("card",), count=2)
    found = fitted.predict_operators(rows, DEVICES, np.array([1e-3, np.nan]), np.zeros(2))
    assert found["power_w"]["upper"].isna().tolist() == [False, True]
    assert found["energy_j"]["upper"].isna().tolist() == [False, True]


def test_without_shapes_to_leave_out_the_intervals_of_a_measured_device_are_those_of_the_prior() -> None:
    rows = operators(("card",), count=600)
    rows = rows[rows["kind"] == "pointwise"].reset_index(drop=True)  # one group of shapes, so that none can be left out
    model = power.fit(rows, steps(("card",)).iloc[:0], lists(), DEVICES)
    assert "card" in model.operators.learned
    assert model.operators.calibrations == {}
    found = model.predict_operators(rows.iloc[:1], DEVICES, rows["time_s"].to_numpy()[:1], np.array([0.1]))
    power_w, energy_j = found["power_w"].iloc[0], found["energy_j"].iloc[0]
    assert np.log(power_w["predicted"] / power_w["lower"]) == pytest.approx(0.38 * 2.1)
    assert np.log(energy_j["predicted"] / energy_j["lower"]) == pytest.approx(0.38 * 2.1 + 0.1)


def test_one_operator_measured_many_times_has_no_model_of_shapes() -> None:
    rows = operators(("card",), count=1)
    model = power.fit(rows.loc[[0] * 250].reset_index(drop=True), steps(("card",)).iloc[:0], lists(), DEVICES)
    assert model.operators.learned == {}
    assert model.fleet.typical.coefficients.sum() > 0


def test_products_without_a_rate_do_not_change_the_coefficients() -> None:
    rows = operators(("card",), count=60)
    wide = rows.iloc[:1].assign(dtype="float64", kind="gemm", power_w=10.0)
    with_wide = power.fit(pd.concat([rows, wide], ignore_index=True), steps(("card",)).iloc[:0], lists(), DEVICES)
    without = power.fit(rows, steps(("card",)).iloc[:0], lists(), DEVICES)
    assert with_wide.fleet.typical.coefficients == pytest.approx(without.fleet.typical.coefficients)
