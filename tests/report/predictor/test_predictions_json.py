"""Predictions as JSON: the keys that docs/reference/predictions-json.md names, and their values."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from hpcbench.report.predictor.predictions_json import predictions_json
from hpcbench.report.predictor.text.summary import Wanted
from tests.report.predictor.made_predictions import made_predictions

# Half the interval without data: that of devices 0.10, and 2.5 times 0.05 + 0.05 x (log 1.2 - log 0.6).
HALF = math.hypot(0.10, 2.5 * (0.05 + 0.05 * math.log(2)))
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "predictions-json.md"


def document(wanted: Wanted | None = None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(predictions_json(made_predictions(), wanted or Wanted()))
    return found


def test_the_recommendation_of_each_case_has_its_ratios() -> None:
    case = document()["recommendations"][0]
    assert (case["case"], case["label"]) == ("c1", "batch_size=8")
    assert (case["time_s"]["device"], case["time_s"]["is_conclusive"]) == ("h100-sxm", False)
    assert case["energy_j"]["device"] == "l40s"
    assert case["energy_j"]["others"][0]["ratio"] == pytest.approx(17.4 / 23.0)
    assert case["within"] is None
    assert case["best_states"][0] == {
        "device": "a100-pcie-40",
        "setting": "clock",
        "state": "960 MHz",
        "is_conclusive": True,
        "energy_ratio": pytest.approx(0.72),
        "energy_ratio_pi_low": pytest.approx(0.72 * math.exp(-HALF)),
        "energy_ratio_pi_high": pytest.approx(0.72 * math.exp(HALF)),
        "time_ratio": pytest.approx(1.2),
    }


def test_a_limit_of_the_time_names_the_devices_that_keep_it() -> None:
    found = document(Wanted(within_s=0.066))["recommendations"][0]["within"]
    assert [each["device"] for each in found["yes"]] == ["h100-sxm", "l40s"]
    assert found["energy_j"]["device"] == "l40s"


def test_refused_rows_have_null_and_a_reason() -> None:
    rows = [row for row in document()["predictions"] if row["device"] == "unknown-device"]
    assert {row["time_s"] for row in rows} == {None}
    assert {row["reason"] for row in rows} == {"description of device 'unknown-device' not found"}


def test_the_page_names_each_key() -> None:
    text, found = PAGE.read_text(), document(Wanted(within_s=0.066))
    case = document()["recommendations"][0]
    keys = [*found, *case, *found["recommendations"][0]["within"], *case["time_s"], *case["time_s"]["others"][0]]
    keys += [*found["overview"], *document()["overview"]["devices"][0], *found["overview"]["devices"][0]]
    keys += [*document()["overview"]["devices"][0]["time_s"]]
    keys += [*found["predictions"][0], *found["shares"][0], *case["best_states"][0]]
    assert [key for key in keys if f"`{key}`" not in text and not key.endswith(("_pi_low", "_pi_high"))] == []
