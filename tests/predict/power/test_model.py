"""The model of power and energy of operators and networks."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.power import model as power
from hpcbench.predict.power.given_time import GivenTime
from hpcbench.predict.power.networks import measured_rows, with_known_lists
from tests.predict.power.made_up_power import DEVICES, lists, operators, steps, unfitted


def predicted_networks(model: power.PowerModel, networks: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return model.predict_networks(networks, lists(), DEVICES)


@pytest.fixture(scope="module")
def fitted() -> power.PowerModel:
    return power.fit(operators(("card", "other")), steps(), lists(), DEVICES)


def test_networks_on_a_measured_device(fitted: power.PowerModel) -> None:
    found = predicted_networks(fitted, steps())
    for quantity in ("time_s", "power_w", "energy_j"):
        assert found[quantity]["predicted"].to_numpy() == pytest.approx(steps()[quantity].to_numpy(), rel=0.05)
        assert (found[quantity]["lower"] < found[quantity]["predicted"]).all()
        assert (found[quantity]["predicted"] < found[quantity]["upper"]).all()


def test_the_clock_of_least_energy(fitted: power.PowerModel) -> None:
    real = steps()
    found = predicted_networks(fitted, real)
    for network, rows in real.groupby("network"):
        places = rows.index
        chosen = rows["clock_mhz"][found["energy_j"]["predicted"][places].idxmin()]
        energy = rows.set_index("clock_mhz")["energy_j"]
        assert energy[chosen] <= 1.02 * energy.min(), network


def test_a_limit_lowers_power_and_costs_time(fitted: power.PowerModel) -> None:
    rows = steps(clocks=(1000,)).query("network == 'large'")
    free = predicted_networks(fitted, rows)
    limit = 0.8 * free["power_w"]["predicted"].iloc[0]
    limited = predicted_networks(fitted, rows.assign(power_limit_w=limit))
    assert limited["power_w"]["predicted"].iloc[0] <= limit
    assert limited["time_s"]["predicted"].iloc[0] > free["time_s"]["predicted"].iloc[0]


@pytest.mark.parametrize("lowest_mhz", [None, 400.0, 900.0])
def test_a_device_that_cannot_keep_a_limit_at_its_lowest_clock_throttles(
    fitted: power.PowerModel, lowest_mhz: float | None
) -> None:
    devices = {"card": replace(DEVICES["card"], lowest_mhz=lowest_mhz)}
    rows = steps(clocks=(1000,)).query("network == 'large'")
    limit = 0.3 * DEVICES["card"].board_power_w
    free, limited = (
        fitted.predict_networks(rows.assign(power_limit_w=each), lists(), devices) for each in (np.nan, limit)
    )
    assert (limited["power_w"][["lower", "predicted", "upper"]].iloc[0] <= limit).all()
    assert limited["power_w"]["predicted"].item() > 0.9 * limit
    slower = limited["time_s"]["predicted"].item() / free["time_s"]["predicted"].item()
    saved = free["power_w"]["predicted"].item() / limited["power_w"]["predicted"].item()
    assert slower > saved  # the idle power remains


def test_a_limit_below_the_idle_power_is_refused(fitted: power.PowerModel) -> None:
    rows = steps(clocks=(1000,)).query("network == 'large'").assign(power_limit_w=10.0)
    for each in fitted.predict_networks(rows, lists(), DEVICES).values():
        assert each["reason"].item() == "the power limit is below the predicted idle power"
        assert np.isnan(each["predicted"].item())


def test_measured_rows_at_a_limit_that_the_model_refuses_do_not_remove_the_intervals() -> None:
    low = steps(clocks=(1000,)).assign(power_limit_w=12.0, power_w=11.5)
    found = power.fit(operators(), pd.concat([steps(), low], ignore_index=True), lists(), DEVICES)
    for each in predicted_networks(found, steps(clocks=(1000,))).values():
        assert (each["upper"] > each["predicted"]).all()


def test_a_given_time_is_kept_at_the_boost_clock(fitted: power.PowerModel) -> None:
    rows = steps(clocks=(1000, 500))
    given = GivenTime(np.full(len(rows), 0.123), np.full(len(rows), 0.4), np.full(len(rows), np.nan))
    found = fitted.predict_networks(rows, lists(), DEVICES, given)
    time_s = found["time_s"]["predicted"].to_numpy()
    assert time_s[::2] == pytest.approx(0.123)
    assert (time_s[1::2] > 0.123).all()
    width = {name: np.log(each["upper"] / each["lower"]).to_numpy() for name, each in found.items()}
    assert width["time_s"] == pytest.approx(0.8)
    assert width["energy_j"] == pytest.approx(np.hypot(width["power_w"], 0.8))


def test_a_given_step_of_launches_saves_power_without_more_time(fitted: power.PowerModel) -> None:
    rows = steps(clocks=(1000, 700)).query("network == 'large'").reset_index(drop=True)

    def predicted(launches: float) -> tuple[np.ndarray, np.ndarray]:
        given = GivenTime(np.full(2, 0.5), np.full(2, 0.4), np.full(2, launches))
        found = fitted.predict_networks(rows, lists(), DEVICES, given)
        return found["time_s"]["predicted"].to_numpy(), found["power_w"]["predicted"].to_numpy()

    time_s, power_w = predicted(launches=3.0)
    assert time_s == pytest.approx([0.5, 0.5], rel=0.01)
    assert power_w[1] < power_w[0]
    of_device, _ = predicted(launches=0.0)
    assert of_device[0] == pytest.approx(0.5)
    assert of_device[1] > 1.1 * of_device[0]


def test_networks_without_a_list_or_device_are_refused(fitted: power.PowerModel) -> None:
    rows = steps(clocks=(1000,))
    unknown = rows.assign(network="unheard", list_id="nothing")
    assert set(predicted_networks(fitted, unknown)["energy_j"]["reason"]) == {
        "the operators of the network, or their rates, are unknown"
    }
    elsewhere = predicted_networks(fitted, rows.assign(device="moon"))["power_w"]
    assert set(elsewhere["reason"]) == {"the device has no description"}
    assert elsewhere["predicted"].isna().all()


def test_networks_in_a_data_type_without_a_rate_are_refused_and_not_fitted(fitted: power.PowerModel) -> None:
    rows, listed = steps().assign(dtype="float64"), lists().assign(dtype="float64")
    assert measured_rows(rows, listed, DEVICES) == {}
    found = fitted.predict_networks(rows, listed, DEVICES)["power_w"]
    assert set(found["reason"]) == {"the operators of the network, or their rates, are unknown"}


def test_a_network_takes_the_list_of_another_data_type() -> None:
    rows = steps(clocks=(1000,))
    single = rows.assign(dtype="float32", list_id="unlisted")
    found = with_known_lists(pd.concat([rows, single], ignore_index=True), lists())
    assert list(found["list_id"][3:]) == ["small", "medium", "large"]


def test_operators_on_measured_and_other_devices(fitted: power.PowerModel) -> None:
    rows = operators(("card",), seed=9)
    found = fitted.predict_operators(rows, DEVICES, rows["time_s"].to_numpy(), np.full(len(rows), 0.2))
    assert found["power_w"]["predicted"].to_numpy() == pytest.approx(rows["power_w"].to_numpy(), rel=0.1)
    energy = (rows["power_w"] * rows["time_s"]).to_numpy()
    assert found["energy_j"]["predicted"].to_numpy() == pytest.approx(energy, rel=0.1)
    width = {name: np.log(each["upper"] / each["lower"]) for name, each in found.items()}
    assert (width["energy_j"] > width["power_w"]).all()


def test_operators_without_a_time_are_refused(fitted: power.PowerModel) -> None:
    rows = operators(("card",), count=2)
    found = fitted.predict_operators(rows, DEVICES, np.array([1e-3, np.nan]), np.zeros(2))["power_w"]
    assert list(found["reason"]) == ["", "the time is unknown"]


def test_a_stored_model_predicts_the_same(fitted: power.PowerModel) -> None:
    again = power.PowerModel.from_json(json.loads(json.dumps(fitted.to_json())))
    for quantity, each in predicted_networks(fitted, steps()).items():
        pd.testing.assert_frame_equal(predicted_networks(again, steps())[quantity], each)
    rows = operators(("other",), count=6)
    times = rows["time_s"].to_numpy(), np.zeros(6)
    before, after = (each.predict_operators(rows, DEVICES, *times) for each in (fitted, again))
    pd.testing.assert_frame_equal(before["energy_j"], after["energy_j"])


def test_a_device_under_another_of_its_names_is_the_measured_one(fitted: power.PowerModel) -> None:
    renamed = {"alias": replace(DEVICES["card"], name="alias", aliases=("card",))}
    rows = steps(clocks=(1000,))
    for quantity, each in predicted_networks(fitted, rows).items():
        found = fitted.predict_networks(rows.assign(device="alias"), lists(), renamed)[quantity]
        pd.testing.assert_frame_equal(found, each)


def test_without_data_the_priors_answer_with_wide_intervals() -> None:
    found = predicted_networks(unfitted(), steps())["energy_j"]
    assert (found["reason"] == "").all()
    assert (found["upper"] / found["lower"] > 2.0).all()


def test_rows_with_an_impossible_power_do_not_count(fitted: power.PowerModel) -> None:
    rows = operators(("card", "other"))
    broken = pd.concat([rows, rows.assign(power_w=1e6)], ignore_index=True)
    model = power.fit(broken, steps(), lists(), DEVICES)
    assert model.fleet.to_json() == fitted.fleet.to_json()


def test_a_device_with_one_measured_network_is_more_certain_than_others() -> None:
    rows = steps(("card", "other")).query("network == 'large'").reset_index(drop=True)
    model = power.fit(operators(("card",)).iloc[:0], rows[rows["device"] == "card"], lists(), DEVICES)
    found = predicted_networks(model, rows)["energy_j"]
    width = np.log(found["upper"] / found["predicted"]).groupby(rows["device"]).max()
    assert width.to_dict() == pytest.approx({"card": 0.25, "other": 0.51})


@pytest.mark.parametrize("column", ["clock_mhz", "power_limit_w"])
def test_steps_at_a_clock_or_limit_of_zero_are_refused_and_do_not_count(column: str) -> None:
    rows = steps(("card",))
    wrong = rows.iloc[:3].assign(**{column: 0.0})
    both = power.fit(operators().iloc[:0], pd.concat([rows, wrong], ignore_index=True), lists(), DEVICES)
    alone = power.fit(operators().iloc[:0], rows, lists(), DEVICES)
    assert both.fleet.of("card").coefficients == pytest.approx(alone.fleet.of("card").coefficients)
    found = predicted_networks(alone, wrong)["time_s"]
    assert set(found["reason"]) == {"the clock or the power limit is not above 0"}
    assert found["predicted"].isna().all()
