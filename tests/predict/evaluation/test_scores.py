"""Scores: errors in percent of the measurement, coverage and width of intervals, refused rows."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from hpcbench.predict.evaluation.scores import ALL, scores

NAN = float("nan")


def frame(rows: list[tuple[str, str, str, float, float, float, float]]) -> pd.DataFrame:
    """Return scored rows from device, seen, phase, measured, predicted, lower and upper."""
    columns = ["device", "seen", "phase", "measured", "predicted", "lower", "upper"]
    fixed = {"file": "a.csv", "quantity": "time_ms", "vendor": "NVIDIA", "kind": "image network", "dtype": "float32"}
    state = {"execution": "eager", "is_new_network": False, "clock_mhz": NAN}
    return pd.DataFrame(rows, columns=columns).assign(**fixed, **state)


def test_errors_are_percent_of_the_measurement() -> None:
    rows = frame(
        [
            ("A", "seen", "inference", 10.0, 11.0, 9.0, 12.0),
            ("A", "seen", "inference", 10.0, 8.0, 7.0, 9.0),
            ("A", "seen", "inference", 10.0, 10.5, 10.0, 11.5),
            ("A", "seen", "inference", 10.0, NAN, NAN, NAN),
            ("A", "seen", "inference", NAN, 10.0, 9.0, 11.0),
        ]
    )
    (found,) = scores(rows)
    assert (found.part, found.devices, found.rows, found.refused) == (ALL, "seen NVIDIA", 3, 1)
    assert found.mape == pytest.approx((10 + 20 + 5) / 3)
    assert found.median_ape == pytest.approx(10)
    assert found.bias == pytest.approx((10 - 20 + 5) / 3)
    assert found.coverage == pytest.approx(2 / 3)
    assert found.width == pytest.approx(2 / 8)
    assert math.isnan(found.worst_coverage), "a device with three rows"


def test_devices_that_were_seen_and_phases_have_scores_of_their_own() -> None:
    rows = frame(
        [
            ("A", "seen", "inference", 10.0, 11.0, 9.0, 12.0),
            ("A", "seen", "training", 10.0, 15.0, 9.0, 16.0),
            ("B", "unseen", "inference", 10.0, 20.0, 9.0, 31.0),
        ]
    )
    found = {(each.part, each.devices): each.mape for each in scores(rows)}
    assert found == {
        (ALL, "seen NVIDIA"): pytest.approx(30),
        ("inference", "seen NVIDIA"): pytest.approx(10),
        ("training", "seen NVIDIA"): pytest.approx(50),
        (ALL, "unseen NVIDIA"): pytest.approx(100),
    }


def test_the_worst_coverage_is_that_of_a_device() -> None:
    inside, outside = (10.0, 10.0, 9.0, 11.0), (10.0, 20.0, 19.0, 21.0)
    rows = frame([("A", "seen", "inference", *inside)] * 30 + [("B", "seen", "inference", *outside)] * 4)
    rows = pd.concat([rows, frame([("B", "seen", "inference", *inside)] * 6)], ignore_index=True)
    (found,) = scores(rows)
    assert found.coverage == pytest.approx(36 / 40)
    assert found.worst_coverage == pytest.approx(0.6)


def test_predictions_without_intervals_have_errors_only() -> None:
    (found,) = scores(frame([("A", "seen", "inference", 10.0, 11.0, NAN, NAN)]))
    assert found.mape == pytest.approx(10)
    assert math.isnan(found.coverage)
    assert math.isnan(found.width)


def test_rows_that_are_all_refused_are_counted() -> None:
    (found,) = scores(frame([("A", "seen", "inference", 10.0, NAN, NAN, NAN)]))
    assert (found.rows, found.refused) == (0, 1)
    assert math.isnan(found.mape)
    assert scores(frame([("A", "seen", "inference", NAN, 1.0, NAN, NAN)])) == []
