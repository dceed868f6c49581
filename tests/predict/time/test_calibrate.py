"""Intervals of operators by family and data type."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.calibration.intervals import ALL, Calibration, Expected, new_draw
from hpcbench.predict.time.calibrate import few_operators, unseen_devices
from hpcbench.predict.time.folds import without_devices
from hpcbench.predict.time.model import OperatorTime, half_width
from hpcbench.predict.time.prepared import prepare
from hpcbench.predict.time.priors import CALIBRATION
from tests.predict.time.made_up import DEVICES, FLOOR_S, device, fit, products


def test_a_data_type_has_a_width_of_its_own_if_it_is_calibrated() -> None:
    rows = products(DEVICES, 1).assign(dtype=["float32", "float16", "float32"])
    calibration = Calibration(2, 0.0, {ALL: 9.0, "gemm": 2.0, "gemm|float16": 3.0})
    assert half_width(calibration, prepare(rows, DEVICES), np.full(3, 0.1)) == pytest.approx([0.2, 0.3, 0.2])


def test_devices_that_are_left_out_give_quantiles_of_families_and_data_types() -> None:
    pytest.importorskip("lightgbm")
    rows = prepare(products(DEVICES, 150), DEVICES)
    found = unseen_devices(rows, without_devices(rows))
    assert set(found.quantiles) == {ALL, "gemm", "gemm|float32"}
    assert found.quantiles["gemm"] == pytest.approx(found.quantiles["gemm|float32"], rel=0.1)
    assert found.clusters == 3


def test_an_unseen_device_may_be_slower_than_all_others() -> None:
    """As slow as four devices with a standard deviation of 15 % and three equal ones let expect."""
    pytest.importorskip("lightgbm")
    rows = prepare(products(DEVICES, 150), DEVICES)
    effects = unseen_devices(rows, without_devices(rows)).effects
    expected = new_draw(np.zeros(3), Expected(0.15, 4.0))
    assert expected == pytest.approx(0.15 * (4 / 7 * 8 / 7) ** 0.5 * 1.8946, rel=1e-4)
    assert effects == pytest.approx({"gemm": expected, "gemm|float32": expected}, rel=0.05)
    fitted = fit(products(DEVICES, 150), DEVICES)
    new = {"new": device("new", 1.4)}
    asked = products(new, 100, seed=1)
    asked = asked[asked["time_s"] > 10 * FLOOR_S].reset_index(drop=True)
    found = fitted.predict(asked, new)
    assert np.log(found["upper"] / found["predicted"]).min() > expected


def test_intervals_after_few_operators_are_narrower_and_cover() -> None:
    """The intervals of a device with 20 rows come from the errors of the others after 20 of their rows."""
    pytest.importorskip("lightgbm")
    more = {name: device(name, scale) for name, scale in (("smaller", 0.3), ("larger", 3.0), ("new", 1.4))}
    every = {**DEVICES, **more}
    slowness = {"smaller": 1.5, "small": 1.2, "middle": 2.4, "large": 1.7, "larger": 2.0, "new": 2.1}
    slow = [products({name: each}, 200, slowness[name]) for name, each in every.items()]
    rows = pd.concat(slow, ignore_index=True)
    rows = rows.assign(time_s=rows["time_s"] * np.exp(np.random.default_rng(3).normal(0.0, 0.1, len(rows))))
    is_new = (rows["device"] == "new").to_numpy()
    few = np.flatnonzero(is_new)[:20]
    asked = rows[is_new].iloc[20:].reset_index(drop=True)
    before = fit(rows[~is_new], every).predict(asked, every)
    model = fit(pd.concat([rows[~is_new], rows.iloc[few]], ignore_index=True), every)
    after = model.predict(asked, every)
    long = (asked["time_s"] > 3 * FLOOR_S).to_numpy()
    widths = [np.log(each["upper"] / each["lower"])[long].median() for each in (after, before)]
    assert widths[0] < 0.7 * widths[1]
    assert ((after["lower"] <= asked["time_s"]) & (asked["time_s"] <= after["upper"]))[long].mean() >= 0.85
    assert OperatorTime.from_json(json.loads(json.dumps(model.to_json()))).few == model.few
    assert model.few.clusters == 5
    uncertain = replace(model, few=Calibration(5, 0.0, {ALL: 100.0}))
    bounded = uncertain.predict(asked, every)
    assert (
        np.log(bounded["upper"] / bounded["lower"]) <= 1.001 * np.log(before["upper"] / before["lower"])
    ).mean() > 0.9


def test_with_one_device_the_prior_is_the_calibration() -> None:
    pytest.importorskip("lightgbm")
    rows = prepare(products({"middle": DEVICES["middle"]}, 150), DEVICES)
    fleets = without_devices(rows)
    assert fleets == {}
    assert unseen_devices(rows, fleets) == few_operators(rows, fleets) == CALIBRATION
