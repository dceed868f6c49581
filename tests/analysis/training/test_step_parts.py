"""The parts of a training step: which cases they are of, and their intervals."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from hpcbench.analysis.training.step_parts import PARTS, step_parts
from tests.report.synthetic_results import case, results

NAMES = ("framework", "task", "batch_size")


def parts(*cases: Any, **changes: Any) -> pd.DataFrame:
    return step_parts(results(*cases, **changes), NAMES)


def test_differences_are_of_the_medians_and_their_intervals_contain_the_true_ones() -> None:
    times = {"inference": 0.01, "backward": 0.03, "training": 0.035}
    (row,) = parts(*(case(time, task=task) for task, time in times.items()), repetitions=8).to_dict("records")
    for part, expected in (("backward_minus_inference_s", 0.02), ("update_s", 0.005), ("training_s", 0.035)):
        assert row[f"{part}_ci_low"] < row[part] < row[f"{part}_ci_high"]
        assert row[f"{part}_ci_low"] <= expected <= row[f"{part}_ci_high"]
        assert row[part] == pytest.approx(expected, rel=0.2)
    assert row["update_s"] == row["training_s"] - row["backward_s"]
    assert row["update_s_ci_high"] - row["update_s_ci_low"] > row["training_s_ci_high"] - row["training_s"]


def test_the_items_of_one_step_are_compared_if_inference_has_fewer() -> None:
    (row,) = parts(
        case(0.01, task="inference", items_per_step=8), case(0.05, task="backward", items_per_step=32)
    ).to_dict("records")
    assert row["inference_s"] == pytest.approx(0.04, rel=0.05)
    assert row["backward_minus_inference_s"] == pytest.approx(row["backward_s"] - row["inference_s"])
    assert row["training_case"] is None
    assert pd.isna(row["update_s"])


def test_cases_that_differ_in_anything_but_the_task_are_not_subtracted() -> None:
    assert parts(case(0.01, task="inference"), case(0.03, task="training")).empty  # no backward
    assert parts(case(0.03, task="backward", batch_size=8), case(0.04, task="training", batch_size=16)).empty
    both = [
        case(time, task=task, framework=framework)
        for framework in ("pytorch", "jax")
        for task, time in (("backward", 0.03), ("training", 0.04))
    ]
    assert set(parts(*both)["framework"]) == {"pytorch", "jax"}
    assert parts(case(0.03, task="backward"), case(0.04, task="training", status="failed")).empty


def test_single_measurements_have_no_intervals() -> None:
    found = parts(case(0.03, task="backward"), case(0.04, task="training"), repetitions=1, samples=1)
    assert found["update_s"].notna().all()
    limits = [limit for part in PARTS for limit in part.limits]
    assert found[limits].isna().all(axis=None)


def test_the_difference_of_device_memory_needs_both_peaks() -> None:
    sizes = {"inference": 2**20, "backward": 5 * 2**20, "training": None}
    both = [case(0.01, task=task, peak_device_bytes=size) for task, size in sizes.items()]
    (row,) = parts(*both).to_dict("records")
    assert row["device_memory_difference_bytes"] == 4 * 2**20
    assert row["saved_activation_bytes"] is None
    assert parts(*both[1:])["device_memory_difference_bytes"].isna().all()


def test_saved_activations_are_those_of_the_case_of_backward() -> None:
    (row,) = parts(case(0.03, task="backward", saved_activation_bytes=640), case(0.04, task="training")).to_dict(
        "records"
    )
    assert row["saved_activation_bytes"] == 640
