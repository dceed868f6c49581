"""Half of the errors that shapes explain on measured devices is carried over to others."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.power import carried
from hpcbench.predict.power import model as power
from hpcbench.predict.power.learned import Learned
from tests.predict.power.made_up_power import DEVICES, lists, operators, steps

MORE = 0.4  # of the logarithm of the power of products with a long inner dimension
LONG = 1024


def error_of(rows: pd.DataFrame) -> np.ndarray:
    return np.where(rows["k"] >= LONG, MORE, 0.0)


def test_half_of_an_error_by_shape_is_carried_over() -> None:
    rows = operators(("card",), count=1200)
    model = carried.fit(rows, DEVICES, error_of(rows))
    asked = operators(("other",), count=40, seed=5)
    assert carried.correction(model, asked, DEVICES) == pytest.approx(0.5 * error_of(asked), abs=0.06)


def test_kinds_that_were_not_measured_are_not_corrected() -> None:
    rows = operators(("card",), count=600)
    model = carried.fit(rows, DEVICES, np.full(len(rows), MORE))
    asked = operators(("other",), count=4).assign(dtype="float32")
    assert not carried.correction(model, asked, DEVICES).any()
    few = rows.iloc[:100]
    assert not carried.correction(carried.fit(few, DEVICES, error_of(few)), few, DEVICES).any()
    assert not carried.correction(None, rows, DEVICES).any()


def test_devices_count_equally() -> None:
    many, fewer = operators(("card",), count=3000), operators(("other",), count=300)
    rows = pd.concat([many, fewer], ignore_index=True)
    # Both devices have the same rates, so that shapes do not distinguish them.
    same = {**DEVICES, "other": replace(DEVICES["card"], name="other")}
    asked = operators(("other",), count=400, seed=9)
    model = carried.fit(rows, same, np.where(rows["device"] == "card", MORE, -MORE))
    found = carried.correction(model, asked, same)
    assert abs(float(np.mean(found))) < 0.2 * 0.5 * MORE


def test_the_power_of_an_unmeasured_device_has_the_correction_of_measured_ones() -> None:
    rows = operators(("card",), count=1200)
    rows = rows.assign(power_w=rows["power_w"] * np.exp(0.5 * error_of(rows)))
    fitted = power.fit(rows, steps(("card",)), lists(), DEVICES).operators
    asked = operators(("other",), count=200, seed=7)
    times = asked["time_s"].to_numpy()
    plain = replace(fitted, carried=None).estimate(asked, DEVICES, times).log_value
    with_shapes = fitted.estimate(asked, DEVICES, times).log_value
    truth = np.log(asked["power_w"].to_numpy()) + 0.5 * error_of(asked)
    assert np.mean(np.abs(with_shapes - truth)) < 0.9 * np.mean(np.abs(plain - truth))
    stored = json.loads(json.dumps(fitted.to_json()))
    again = type(fitted).from_json(stored, fitted.fleet).estimate(asked, DEVICES, times).log_value
    assert again == pytest.approx(with_shapes)


def test_measured_devices_have_their_own_model() -> None:
    rows = operators(("card",), count=600)
    fitted = power.fit(rows, steps(("card",)), lists(), DEVICES).operators
    times = rows["time_s"].to_numpy()
    other = replace(fitted, carried=Learned({}, {}, frozenset()))
    assert other.estimate(rows, DEVICES, times).log_value == pytest.approx(
        fitted.estimate(rows, DEVICES, times).log_value
    )
