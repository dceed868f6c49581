"""The model of the time of operators, on made-up devices."""

import json
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.prediction import COLUMNS
from hpcbench.predict.time.model import PRIOR, OperatorTime
from tests.predict.time.made_up import DEVICES, FLOOR_S, device, fit, products

pytest.importorskip("lightgbm")


@pytest.fixture(scope="module")
def model() -> OperatorTime:
    return fit(products(DEVICES, 300), DEVICES)


def test_products_of_a_seen_device(model: OperatorTime) -> None:
    asked = products(DEVICES, 100, seed=1)
    found = model.predict(asked, DEVICES)
    ratio = found["predicted"] / asked["time_s"]
    assert np.median(np.abs(ratio - 1)) < 0.03
    assert ((found["lower"] <= asked["time_s"]) & (asked["time_s"] <= found["upper"])).mean() > 0.85
    assert tuple(found.columns) == COLUMNS


def test_products_of_an_unseen_device(model: OperatorTime) -> None:
    devices = {"new": device("new", 1.4)}
    asked = products(devices, 100, seed=1)
    found = model.predict(asked, devices)
    assert np.median(np.abs(found["predicted"] / asked["time_s"] - 1)) < 0.1
    assert (found["basis_devices"] == 3).all()
    assert (found["basis_rows"] == 900).all()


def test_a_device_of_a_vendor_without_measurements_has_a_wider_interval(model: OperatorTime) -> None:
    """By the effect of a vendor: 0.15 sqrt(1 + 1/4), times the quantile of Student's t for 4 degrees of freedom."""
    known, other = device("new", 1.4), replace(device("new", 1.4), vendor="Other")
    asked = products({"new": known}, 20, seed=1)
    widths = [
        np.log(found["upper"] / found["lower"]) / 2
        for found in (model.predict(asked, {"new": each}) for each in (known, other))
    ]
    added = np.sqrt(widths[1] ** 2 - widths[0] ** 2)
    assert added.to_numpy() == pytest.approx(np.full(20, 0.15 * 1.25**0.5 * 2.132), rel=1e-3)
    read = OperatorTime.from_json(json.loads(json.dumps(model.to_json())))
    assert read.vendors == model.vendors == {known.vendor}


def test_few_rows_of_a_device_show_a_part_of_the_effect_of_its_vendor() -> None:
    known, other = ({"new": replace(device("new", 1.4), vendor=vendor)} for vendor in ("NVIDIA", "Other"))
    asked = products(known, 200, seed=1)
    asked = asked[asked["time_s"] > 10 * FLOOR_S].reset_index(drop=True)
    rows = pd.concat([products(DEVICES, 150), products(known, 20)], ignore_index=True)
    found = [fit(rows, {**DEVICES, **new}).predict(asked, new) for new in (known, other)]
    widths = [np.log(each["upper"] / each["lower"]) / 2 for each in found]
    added = np.sqrt(widths[1] ** 2 - widths[0] ** 2).median() / (0.15 * 1.25**0.5 * 2.132)
    assert 0.2 < added < 0.8


def test_a_data_type_that_its_family_does_not_have_is_less_certain(model: OperatorTime) -> None:
    asked = products(DEVICES, 50, seed=1)
    asked = asked[asked["time_s"] > 10 * FLOOR_S].reset_index(drop=True)
    spreads = [model.estimate(asked.assign(dtype=dtype), DEVICES).spread for dtype in ("float32", "float16")]
    assert np.median(spreads[1] / spreads[0]) > 1.5


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({"clock_mhz": 560.0}, "their clock is below the boost clock"),
        ({"power_limit_w": 4e5}, "their power limit is below that of other rows"),
    ],
)
def test_rows_in_lower_states_do_not_count(model: OperatorTime, state: dict[str, float], reason: str) -> None:
    rows = products(DEVICES, 300)
    slow = products(DEVICES, 100, seed=2)
    slow = slow.assign(time_s=3 * slow["time_s"], **state)
    found = fit(pd.concat([rows, slow], ignore_index=True), DEVICES)
    asked = products(DEVICES, 50, seed=1)
    pd.testing.assert_frame_equal(found.predict(asked, DEVICES), model.predict(asked, DEVICES))
    assert f"{len(slow)} rows left out of the model of times ({reason})" in found.flaws


def test_in_a_stream_the_launch_vanishes(model: OperatorTime) -> None:
    asked = products(DEVICES, 50, seed=1)
    short = (asked["time_s"] <= 1.001 * FLOOR_S).to_numpy()
    call = np.exp(model.estimate(asked, DEVICES).log_value)
    stream = np.exp(model.estimate(asked, DEVICES, in_stream=True).log_value)
    assert call[short] == pytest.approx(FLOOR_S, rel=0.05)
    assert (stream[short] < 0.6 * FLOOR_S).all()
    assert (stream < call).all()


def test_without_data_the_prior_answers_with_wide_intervals() -> None:
    asked = products(DEVICES, 50)
    found = PRIOR.predict(asked, DEVICES)
    assert (found["upper"] / found["lower"] > 2).all()
    assert ((found["lower"] <= asked["time_s"]) & (asked["time_s"] <= found["upper"])).mean() > 0.8
    assert (found["basis_rows"] == 0).all()
    assert fit(asked.assign(time_s=np.nan), DEVICES) == PRIOR


def test_refusals_have_reasons(model: OperatorTime) -> None:
    good = products(DEVICES, 1).head(1)
    asked = pd.concat(
        [
            good,
            good.assign(kind=table.UNKNOWN, function="matmul"),
            good.assign(device="other"),
            good.assign(dtype="float64"),
        ],
        ignore_index=True,
    )
    found = model.predict(asked, DEVICES)
    assert list(found["reason"]) == [
        "",
        "operator 'matmul' has no model",
        "device 'other' has no description",
        "matrix products in 'float64' have no model: device descriptions have no rate for it",
    ]
    assert list(found["predicted"].notna()) == [True, False, False, False]


def test_kinds_without_data_borrow_a_model(model: OperatorTime) -> None:
    operator = {"device": "middle", "kind": table.POOLING, "dtype": "float32", "flops": 1e9, "bytes": 9e9}
    rows = table.complete(pd.DataFrame([operator]))
    found = model.predict(rows, DEVICES).iloc[0]
    assert 0.01 < found["predicted"] < 0.02
    assert found["lower"] < 0.01 < found["upper"]


def test_flaws_are_counted() -> None:
    rows = products(DEVICES, 100)
    negative, unknown = rows.head(3).assign(time_s=-1.0), rows.head(1).assign(kind=table.UNKNOWN, function="matmul")
    rows = pd.concat([rows, negative, unknown], ignore_index=True)
    flaws = fit(rows, DEVICES).flaws
    assert flaws == (
        "3 rows left out of the model of times (their time is zero or negative)",
        "1 row left out of the model of times (operators without a model: 'matmul')",
    )


@pytest.mark.parametrize("changes", [{"flops": np.inf}, {"flops": -1.0}, {"bytes": np.inf}, {"m": -8.0}])
def test_an_operator_with_an_invalid_size_is_refused(model: OperatorTime, changes: dict[str, float]) -> None:
    found = model.predict(products(DEVICES, 1).assign(**changes), DEVICES)
    assert set(found["reason"]) == {"the operator has FLOPs, bytes or a size that is negative or infinite"}
    assert found["predicted"].isna().all()


def test_json_keeps_the_model(model: OperatorTime) -> None:
    asked = products(DEVICES, 20, seed=2)
    again = OperatorTime.from_json(json.loads(json.dumps(model.to_json())))
    pd.testing.assert_frame_equal(again.predict(asked, DEVICES), model.predict(asked, DEVICES))


def test_a_few_rows_correct_the_fleet_for_their_device(model: OperatorTime) -> None:
    devices = {**DEVICES, "new": device("new", 1.4)}
    new = products({"new": devices["new"]}, 120, slowness=2.1)
    rows = pd.concat([products(DEVICES, 300), new.head(20)], ignore_index=True)
    asked = new.tail(100).reset_index(drop=True)
    asked = asked[asked["time_s"] > 10 * FLOOR_S].reset_index(drop=True)
    found = fit(rows, devices).estimate(asked, devices)
    without = model.estimate(asked, devices)
    log_time = np.log(asked["time_s"].to_numpy())
    assert np.median(found.log_value - log_time) == pytest.approx(0.0, abs=0.1)
    assert np.median(without.log_value - log_time) < -0.25
    assert np.median(found.spread) < 0.7 * np.median(without.spread)


def test_a_few_rows_narrow_the_prior_of_a_device_without_a_fleet() -> None:
    devices = {"middle": DEVICES["middle"]}
    asked = products(devices, 100, seed=1)
    asked = asked[asked["time_s"] > 10 * FLOOR_S].reset_index(drop=True)
    found = fit(products(devices, 60), devices)
    assert np.median(np.abs(found.predict(asked, devices)["predicted"] / asked["time_s"] - 1)) < 0.08
    assert np.median(found.estimate(asked, devices).spread) < 0.85 * np.median(PRIOR.estimate(asked, devices).spread)


def test_a_few_rows_never_widen_the_interval_of_their_device() -> None:
    # With the prior, launches limit these small products. Slow kernels have wider intervals than launches.
    devices = {"middle": DEVICES["middle"]}
    rows = products(devices, 24, slowness=1000.0)
    with_rows, without = (each.predict(rows, devices) for each in (fit(rows, devices), PRIOR))
    widths = [np.log(each["upper"] / each["predicted"]) for each in (with_rows, without)]
    assert (widths[0] <= widths[1] + 1e-9).all()


def test_what_bfloat16_shows_of_a_device_holds_for_float16_if_both_are_equally_fast() -> None:
    equal = MappingProxyType({"float16": 112e12, "bfloat16": 112e12})
    cards = {"fast": device("fast", matrix_flops_per_s=equal), "slow": device("slow", matrix_flops_per_s=equal)}
    rows = pd.concat(
        [products({name: card}, 400, slowness).assign(dtype="bfloat16", bytes=lambda each: each["bytes"] / 2)
         for (name, card), slowness in zip(cards.items(), (1.5, 4.0), strict=True)]
    )  # fmt: skip
    fitted = fit(rows.reset_index(drop=True), cards)
    asked = rows[rows["m"] >= 512].reset_index(drop=True)
    known, other = (fitted.predict(asked.assign(dtype=dtype), cards) for dtype in ("bfloat16", "float16"))
    assert other["predicted"].to_numpy() == pytest.approx(known["predicted"].to_numpy())
    assert other["upper"].to_numpy() == pytest.approx(known["upper"].to_numpy())
    unequal = {name: replace(card, matrix_flops_per_s={**equal, "float16": 56e12}) for name, card in cards.items()}
    without = fitted.predict(asked.assign(dtype="float16"), unequal)
    assert (without["upper"] / without["predicted"]).mean() > (known["upper"] / known["predicted"]).mean()


def test_in_a_network_the_prior_is_shorter_by_as_much_as_no_measurement_replaces_it() -> None:
    """By 0.2 without data, also for a device whose rows another one has, and by less for each row of the device."""
    asked = products(DEVICES, 100, seed=1)
    asked = asked[asked["time_s"] > 10 * FLOOR_S].reset_index(drop=True).assign(timing=table.STREAM)
    shorter = []
    for count in (0, 1, 4, 60):
        rows = products({"middle": DEVICES["middle"]}, count)
        model = fit(rows, DEVICES) if count else PRIOR
        inside, alone = (model.estimate(asked, DEVICES, in_stream).log_value for in_stream in (True, False))
        own = (asked["device"] == "middle").to_numpy()
        assert (alone - inside)[~own] == pytest.approx(0.2)
        shorter.append(float(np.median((alone - inside)[own])))
    assert shorter[0] == pytest.approx(0.2)
    assert shorter == sorted(shorter, reverse=True)
    assert shorter[1] > 0.05
    assert shorter[3] < 0.5 * shorter[1]
