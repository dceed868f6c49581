"""Valid FLOPS and models per minute, with numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.analysis.cases.case_table import case_table
from hpcbench.collect.table import repetition_table
from hpcbench.collect.training_columns import COLUMNS, training_columns
from hpcbench.core.record import Record
from tests.fixtures.records import a_training

MakeRecord = Callable[..., Record]
WORK = {"flops_per_item": 6_000, "items_per_epoch": 1_000, "items_per_step": None}
PARAMETERS = {"task": "time_to_accuracy", "target_accuracy": 0.8, "data": {"npz": "digits.npz"}}


@pytest.fixture
def trained(make_record: MakeRecord) -> MakeRecord:
    """The record of a training of 1,000 items of 6,000 FLOPs per epoch to an accuracy of 0.8."""

    def make(*trainings: dict[str, Any], run: int = 1, status: str = "completed", **changes: Any) -> Record:
        times = [each["elapsed_s"] for each in trainings if each["elapsed_s"] is not None]
        given = {"parameters": PARAMETERS, "work": WORK, "times_s": [max(times)] if times else [], **changes}
        several = list(trainings) if len(trainings) > 1 else []
        return make_record(0, run, status=status, learning=trainings[0], models=several, **given)

    return make


def test_valid_flops_are_the_flops_of_all_epochs_over_the_time_weighted_by_the_quality(trained: MakeRecord) -> None:
    """2 epochs of 1,000 items of 6,000 FLOPs in 4 s: 3 MFLOP/s. (0.88 / 0.8)^5 = 1.1^5 = 1.61051."""
    record = trained(a_training(accuracies=[0.5, 0.88], epoch_s=2.0))
    found = training_columns(record, energy_j=200.0)
    assert found["valid_flops"] == pytest.approx(3e6 * 1.61051)
    assert found["valid_flops_per_w"] == pytest.approx(3e6 * 1.61051 / 50), "200 J in 4 s are 50 W"
    assert found["valid_flops_reason"] is None


def test_valid_flops_of_a_target_that_was_missed_shrink_by_the_fifth_power(trained: MakeRecord) -> None:
    """3 epochs of 6 MFLOP in 6 s: 3 MFLOP/s. (0.4 / 0.8)^5 = 1/32."""
    missed = a_training(accuracies=[0.1, 0.2, 0.4], epoch_s=2.0, reached=False)
    (row,) = repetition_table([trained(missed, status="failed")]).to_dict("records")
    assert row["valid_flops"] == pytest.approx(3e6 / 32)
    assert (row["models"], row["models_trained"]) == (1, 0)
    assert row["models_per_minute"] is None or row["models_per_minute"] != row["models_per_minute"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"work": {**WORK, "flops_per_item": None}}, "the FLOPs of the training are unknown"),
        (
            {"parameters": {**PARAMETERS, "model": "gpt", "model_options": {}}},
            "HPC AI500 has no exponent for language models",
        ),
    ],
)
def test_valid_flops_that_are_not_defined_say_why(trained: MakeRecord, changes: dict[str, Any], reason: str) -> None:
    found = training_columns(trained(a_training(), **changes), energy_j=1.0)
    assert (found["valid_flops"], found["valid_flops_per_w"]) == (None, None)
    assert found["valid_flops_reason"] == reason


def test_without_energy_there_are_no_valid_flops_per_watt(trained: MakeRecord) -> None:
    found = training_columns(trained(a_training()), energy_j=None)
    assert found["valid_flops"] > 0
    assert found["valid_flops_per_w"] is None


def test_models_per_minute_count_the_models_that_reached_the_target(trained: MakeRecord) -> None:
    """Three of four models, the last of them after 90 s: 2 models a minute. The fourth ended after 400 s."""
    trainings = [a_training(epoch_s=time_s) for time_s in (30.0, 90.0, 45.0)]
    record = trained(*trainings, a_training(accuracies=[0.3], epoch_s=400.0, reached=False))
    found = training_columns(record, energy_j=None)
    assert (found["models"], found["models_trained"]) == (4, 3)
    assert found["models_per_minute"] == pytest.approx(2.0)
    assert found["valid_flops_reason"] == "defined for one model per run"


def test_a_case_has_the_median_of_its_runs(trained: MakeRecord) -> None:
    runs = [trained(a_training(epoch_s=time_s), run=run) for run, time_s in enumerate((20.0, 60.0, 30.0))]
    row = case_table(repetition_table(runs)).iloc[0]
    assert row["models_per_minute"] == pytest.approx(2.0)
    assert row["valid_flops"] == pytest.approx(6e6 / 30 * (0.9 / 0.8) ** 5)


def test_other_tasks_have_no_such_columns(make_record: MakeRecord) -> None:
    assert training_columns(make_record(), energy_j=1.0) == dict.fromkeys(COLUMNS)
