"""Effects of devices are shrunk towards the fleet."""

import numpy as np
import pandas as pd
import pytest

from hpcbench.predict.time.device_effects import DeviceEffects, fit_effects, no_effects


def data(counts: dict[str, int], offsets: dict[str, float]) -> tuple[np.ndarray, pd.DataFrame, pd.Series]:
    draw = np.random.default_rng(0)
    devices = pd.Series(np.repeat(list(counts), list(counts.values())))
    features = pd.DataFrame({"size": draw.normal(0, 1, len(devices))})
    rest = devices.map(offsets).to_numpy(dtype="float64") + draw.normal(0, 0.1, len(devices))
    return rest, features, devices


def fitted(counts: dict[str, int], offsets: dict[str, float]) -> DeviceEffects:
    rest, features, devices = data(counts, offsets)
    return fit_effects(rest, np.ones(len(rest)), features, devices, no_effects(features, ["size"]))


def test_offsets_of_devices_with_many_rows_are_around_their_median() -> None:
    found = fitted({"a": 200, "b": 200, "c": 200}, {"a": 0.2, "b": 0.3, "c": 0.6})
    offsets = {name: each[0] for name, each in found.coefficients.items()}
    assert offsets == pytest.approx({"a": -0.1, "b": 0.0, "c": 0.3}, abs=0.03)
    assert all(abs(each[1]) < 0.03 for each in found.coefficients.values())


def test_a_device_with_few_rows_moves_less() -> None:
    found = fitted({"a": 200, "b": 200, "few": 1}, {"a": 0.0, "b": 0.0, "few": 0.4})
    assert 0.1 < found.coefficients["few"][0] < 0.4


def test_slopes_follow_features_and_unknown_devices_have_none() -> None:
    rest, features, devices = data({"a": 300, "b": 300}, {"a": 0.0, "b": 0.0})
    rest = rest + np.where(devices == "a", 0.2, -0.2) * features["size"].to_numpy()
    found = fit_effects(rest, np.ones(len(rest)), features, devices, no_effects(features, ["size"]))
    asked = pd.DataFrame({"size": [0.0, 1.0]})
    slope = np.diff(found.predict(asked, pd.Series(["a", "a"])))[0]
    assert slope == pytest.approx(0.2, abs=0.04)
    assert found.predict(asked, pd.Series(["other", "other"])) == pytest.approx(0.0)
    assert DeviceEffects.from_json(found.to_json()) == found
