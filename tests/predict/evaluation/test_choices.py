"""Choices by predictions: the order of devices, and the best clock, limit or device, with their regret."""

from __future__ import annotations

import pandas as pd
import pytest

from hpcbench.predict.evaluation.choices import Choice, choices

NAN = float("nan")
WORK = {
    "file": "a.csv",
    "network": "net",
    "phase": "inference",
    "data": "",
    "batch_size": 8.0,
    "image_size": NAN,
    "sequence_length": 128.0,
    "new_tokens": NAN,
    "optimizer": "",
    "unit": "step",
    "dtype": "float32",
    "kv_dtype": "",
    "layout": "",
    "execution": "eager",
    "library": "",
    "list_id": "x",
    "power_limit_w": NAN,
    "clock_mhz": NAN,
}


def found(quantity: str, rows: list[dict[str, object]]) -> dict[str, Choice]:
    table = pd.DataFrame([{**WORK, "quantity": quantity, **row} for row in rows])
    return {each.question: each for each in choices(table)}


def test_pairs_of_devices_are_ordered_by_their_predictions() -> None:
    rows = [
        {"device": "A", "measured": 10.0, "predicted": 9.0},
        {"device": "B", "measured": 11.0, "predicted": 8.0},
        {"device": "C", "measured": 30.0, "predicted": 40.0},
        {"device": "D", "measured": NAN, "predicted": 1.0},
        {"device": "D", "measured": 1.0, "predicted": NAN},
    ]
    result = found("time_ms", rows)
    assert (result["order of two devices"].choices, result["order of two devices"].right) == (3, pytest.approx(2 / 3))
    assert (result["order of two devices within 20%"].choices, result["order of two devices within 20%"].right) == (
        1,
        0,
    )
    best = result["best of devices and states"]
    assert (best.choices, best.right, best.regret) == (1, 0, pytest.approx(10))


def test_devices_are_compared_for_the_same_work_only() -> None:
    rows = [
        {"device": "A", "measured": 10.0, "predicted": 10.0},
        {"device": "B", "measured": 20.0, "predicted": 5.0, "batch_size": 16.0},
    ]
    assert found("time_ms", rows) == {}


def test_the_regret_of_a_clock_is_the_additional_measured_energy() -> None:
    rows = [
        {"device": "A", "clock_mhz": 500.0, "measured": 11.0, "predicted": 7.0},
        {"device": "A", "clock_mhz": 900.0, "measured": 10.0, "predicted": 8.0},
        {"device": "A", "clock_mhz": 1400.0, "measured": 14.0, "predicted": 9.0},
    ]
    clock = found("energy_j", rows)["best clock"]
    assert (clock.choices, clock.right, clock.regret) == (1, 0, pytest.approx(10))
    within = [{**row, "measured": 10.1} if row["clock_mhz"] == 500.0 else row for row in rows]
    assert found("energy_j", within)["best clock"].right == 1, "within 2 %"
    assert "best clock" not in found("time_ms", rows)
    assert found("power_w", rows) == {}


def test_the_best_limit_is_chosen_for_each_device() -> None:
    rows = [
        {"device": device, "power_limit_w": limit, "measured": energy, "predicted": predicted}
        for device, limit, energy, predicted in [("A", 100, 5, 3), ("A", 200, 4, 2), ("B", 100, 6, 1), ("B", 200, 9, 2)]
    ]
    limit = found("energy_per_epoch_j", rows)["best power limit"]
    assert (limit.choices, limit.right, limit.regret, limit.worst_regret) == (2, 1, 0, 0)
    assert found("energy_per_epoch_j", rows)["best of devices and states"].regret == pytest.approx(50)


def test_a_relative_prediction_orders_power_limits_and_nothing_else() -> None:
    rows = [
        {"device": "A", "power_limit_w": limit, "measured": energy, "predicted": NAN, "relative": relative}
        for limit, energy, relative in [(100, 6, 0.7), (150, 5, 0.8), (200, 8, 1.0)]
    ]
    result = found("energy_per_epoch_j", rows)
    assert list(result) == ["best power limit"]
    assert result["best power limit"].regret == pytest.approx(20)
