"""Effects of parts, devices and networks on whole over sum."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.networks.listed.ratio import SumRatio, fitted


def _rows(*names: str) -> pd.DataFrame:
    """Return a design with one row per name of a device, all of the forward pass."""
    frame = pd.get_dummies(pd.Series([f"device {name}" for name in names]), dtype="float64")
    return frame.assign(**{"part forward": 1.0})


def test_a_common_ratio_is_an_effect_of_the_part_and_is_shrunk() -> None:
    rows = _rows("a", "b", "c", "d", "e", "f")
    found = fitted(rows, np.full(6, 0.10)).effects["part forward"]
    assert 0.02 < found < 0.10


def test_one_odd_device_does_not_move_the_others() -> None:
    rows = _rows(*"aabbccddeeff")
    odd = np.where(rows["device f"] == 1, 0.7, 0.0)
    found = fitted(rows, odd)
    assert abs(found.effects["device a"] + found.effects["part forward"]) < 0.02
    assert found.effects["device f"] > 0.4


def test_one_odd_row_of_a_device_does_not_move_its_effect() -> None:
    odd = np.array([0.0, 0.0, 0.0, 0.0, 0.7])
    found = fitted(_rows(*"aaaaa"), odd)
    assert found.log_ratio(_rows("a"))[0] < 0.07  # the mean is 0.14


def test_a_device_that_the_fit_did_not_see_has_no_effect_of_its_own() -> None:
    ratio = SumRatio({"part forward": 0.05, "device a": 0.2})
    assert ratio.log_ratio(_rows("a", "new")) == pytest.approx([0.25, 0.05])


def test_without_rows_whole_is_sum() -> None:
    assert fitted(_rows("a").iloc[:0], np.array([])).effects == {}
