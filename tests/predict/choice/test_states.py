"""Ratios of energies between states of one device."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.calibration.intervals import ALL, Calibration
from hpcbench.predict.choice.states import KERNELS, LAUNCHES, SEEN, UNSEEN, StateErrors, calibration_of, state_ratio


def _errors(offsets: dict[str, float], change: float) -> pd.DataFrame:
    """Return errors of items in a default state and at a lower clock, whose error differs by `change`."""
    rows = [
        {"item": item, "cluster": item, "group": KERNELS, "height": height, "error": error, "log_time": time,
         "log_power": power}
        for item, offset in offsets.items()
        for height, error, time, power in ((1410, offset, 0.0, 0.0), (960, offset + change, 0.2, -0.4))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_errors_that_states_share_cancel() -> None:
    found = calibration_of(_errors({"a": 0.5, "b": -0.5, "c": 0.3}, 0.0), shared=True)
    assert found is not None
    assert (found.cluster, found.quantiles[ALL]) == pytest.approx((0.0, 0.0))


def test_what_is_left_is_relative_to_the_distance() -> None:
    found = calibration_of(_errors({"a": 0.5, "b": -0.5}, 0.08), shared=False)
    assert found is not None
    assert found.quantiles[ALL] == pytest.approx(0.08 / (0.05 + 0.05 * 0.6))


def test_selected_states_count_as_a_group_of_their_own() -> None:
    clocks = ((1410, 0.0, 0.0, 0.0), (960, 0.06, 0.2, -0.4), *((500 + each, 0.01, 0.4, -0.5) for each in range(12)))
    rows = [
        {"item": f"i{item}", "cluster": f"i{item}", "group": KERNELS, "height": height, "error": error,
         "log_time": time, "log_power": power}
        for item in range(30)
        for height, error, time, power in clocks
    ]  # fmt: skip
    found = calibration_of(pd.DataFrame(rows), shared=False)
    assert found is not None
    # One state of 13 has least energy, and the largest error: 10 % of all states have an error like that of the others.
    assert found.quantiles[KERNELS] == pytest.approx(0.06 / 0.08)
    assert found.quantiles[ALL] == pytest.approx(0.01 / 0.095)


def test_one_state_calibrates_nothing() -> None:
    errors = _errors({"a": 0.5}, 0.1)
    assert calibration_of(errors[errors["height"] == 1410], shared=False) is None


def test_a_measured_device_and_group_have_intervals_of_their_own() -> None:
    seen = Calibration(3, 0.0, {ALL: 2.0, KERNELS: 1.0, LAUNCHES: 5.0})
    errors = StateErrors(frozenset({"a"}), {SEEN: seen, UNSEEN: Calibration(3, 0.3, {ALL: 0.0})})
    assert errors.half_width("a", KERNELS, 0.2, -0.4) == pytest.approx(0.08)
    assert errors.half_width("a", LAUNCHES, 0.2, -0.4) == pytest.approx(0.40)
    assert errors.half_width("b", KERNELS, 0.2, -0.4) == pytest.approx(0.3)
    assert errors.of(["b"]).half_width("b", KERNELS, 0.2, -0.4) == pytest.approx(0.08)


def test_the_ratio_of_a_state_has_the_interval_of_its_distance() -> None:
    errors = StateErrors(frozenset({"a"}), {SEEN: Calibration(3, 0.0, {ALL: 1.0})})
    found = state_ratio((1.2, 80.0), (1.0, 100.0), "a", KERNELS, errors)
    # Distance: log 1.2 - log(0.8 / 1.2) = 0.5878; half width 0.05 + 0.05 x 0.5878 = 0.0794.
    assert (found.value, found.low) == pytest.approx((0.8, 0.8 * math.exp(-0.0794)), rel=1e-4)
    assert found.is_below_one


def test_without_data_the_interval_is_wide() -> None:
    assert StateErrors().half_width("a", KERNELS, 0.2, -0.4) == pytest.approx(math.hypot(0.1, 2.5 * 0.08))


def test_stored_errors_are_the_same() -> None:
    errors = StateErrors(frozenset({"a"}), {SEEN: Calibration(3, 0.1, {ALL: 1.5})})
    again = StateErrors.from_json(json.loads(json.dumps(errors.to_json())))
    assert again == errors
    assert np.isfinite(again.half_width("a", KERNELS, 0.0, 0.0))
