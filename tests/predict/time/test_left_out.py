"""Fits of the time of operators that did not see a device, or a group of shapes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.tables.prediction import Floats
from hpcbench.predict.time.fitting import fit_with_left_out
from hpcbench.predict.time.left_out import LeftOut
from hpcbench.predict.time.model import PRIOR
from tests.predict.time.made_up import DEVICES, FLOOR_S, device, products

pytest.importorskip("lightgbm")

SLOW, DEVIANT = 2.5, 3.0
NEW = {"new": device("new", 1.4)}
EVERY = {**DEVICES, **NEW}


def deviant(rows: pd.DataFrame) -> np.ndarray:
    """Return the rows of a few shapes that are slower than others of similar size."""
    return ((rows["m"] == 1024) & (rows["k"] >= 512)).to_numpy()


def measured() -> pd.DataFrame:
    """Return products of three devices, one of which is slow, and 40 of a slow new one; some shapes are slow."""
    fast = {name: DEVICES[name] for name in ("small", "middle")}
    slow = {"large": DEVICES["large"]}
    rows = [products(fast, 300), products(slow, 300, 1.5 * SLOW), products(NEW, 40, 1.5 * SLOW)]
    found = pd.concat(rows, ignore_index=True)
    return found.assign(time_s=found["time_s"] * np.where(deviant(found), DEVIANT, 1.0))


@pytest.fixture(scope="module")
def fitted() -> LeftOut:
    return fit_with_left_out(measured(), EVERY)


def long(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[(rows["time_s"] > 10 * FLOOR_S) & ~deviant(rows)].reset_index(drop=True)


def errors(log_value: Floats, rows: pd.DataFrame) -> Floats:
    return np.log(rows["time_s"].to_numpy()) - log_value


@pytest.mark.parametrize("name", ["large", "new"])
def test_without_its_rows_a_slow_device_is_like_the_others(fitted: LeftOut, name: str) -> None:
    rows = long(products({name: EVERY[name]}, 200, 1.5 * SLOW, seed=1))
    seen = errors(fitted.model.estimate(rows, EVERY).log_value, rows)
    unseen = errors(fitted.without(name).estimate(rows, EVERY).log_value, rows)
    assert np.median(seen) == pytest.approx(0.0, abs=0.15)
    assert np.median(unseen) > 0.3


def test_a_device_without_rows_has_the_same_model(fitted: LeftOut) -> None:
    assert fitted.without("other").core == fitted.model.core


def test_with_one_device_its_families_have_the_prior() -> None:
    alone = {"middle": DEVICES["middle"]}
    rows = products(alone, 150)
    found = fit_with_left_out(rows, alone).without("middle").estimate(rows, alone)
    assert found.log_value == pytest.approx(PRIOR.estimate(rows, alone).log_value)


def test_shapes_are_estimated_by_a_fit_without_them(fitted: LeftOut) -> None:
    rows = measured()
    rows = rows[deviant(rows) & (rows["device"] == "middle")].reset_index(drop=True)
    seen = errors(fitted.model.estimate(rows, EVERY).log_value, rows)
    unseen = errors(fitted.estimate(rows, EVERY).log_value, rows)
    assert np.mean(np.abs(unseen)) > 1.3 * np.mean(np.abs(seen))


def test_a_few_rows_do_not_tell_their_own_shapes(fitted: LeftOut) -> None:
    """The fleet is off by a factor: the rows of the other fold correct the new device, but those of the fold do not."""
    rows = long(measured().query("device == 'new'"))
    seen = errors(fitted.model.estimate(rows, EVERY).log_value, rows)
    unseen = errors(fitted.estimate(rows, EVERY).log_value, rows)
    assert np.median(unseen) < 0.5 * np.log(SLOW)
    assert np.mean(np.abs(unseen)) > np.mean(np.abs(seen))


def test_without_rows_nothing_is_left_out() -> None:
    rows = products(DEVICES, 120)
    found = fit_with_left_out(rows.head(0), DEVICES)
    assert (found.shapes, found.devices) == ((), {})
    assert found.estimate(rows, DEVICES).log_value == pytest.approx(PRIOR.estimate(rows, DEVICES).log_value)


def test_without_a_fleet_a_few_rows_do_not_tell_their_own_shapes() -> None:
    alone = {"middle": DEVICES["middle"]}
    rows = products(alone, 60, SLOW)
    found = fit_with_left_out(rows, alone)
    seen = errors(found.model.estimate(rows, alone).log_value, rows)
    unseen = errors(found.estimate(rows, alone).log_value, rows)
    assert np.mean(np.abs(unseen)) > 1.05 * np.mean(np.abs(seen))


def test_an_operator_of_infinite_size_is_refused(fitted: LeftOut) -> None:
    rows = measured().head(3)
    rows.loc[1, "m"] = np.inf
    found = fitted.estimate(rows, EVERY)
    assert list(found.reason == "") == [True, False, True]


def test_a_name_with_a_separator_is_left_out_too() -> None:
    parted = {"a|b": device("a|b"), "small": DEVICES["small"]}
    rows = pd.concat([products({"a|b": parted["a|b"]}, 150, 3 * SLOW), products({"small": parted["small"]}, 150)])
    found = fit_with_left_out(rows.reset_index(drop=True), parted)
    assert set(found.model.core.levels) == {"a|b", "small"}
    assert found.without("a|b").core.levels.keys() == {"small"}
