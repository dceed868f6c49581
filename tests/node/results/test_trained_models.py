"""The record of a run whose ranks trained models to a target accuracy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.core.record import RecordKey
from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.typed_json import to_json
from hpcbench.node.results import record_writer
from hpcbench.node.results.outcome import Ending, judge

MakeRank = Callable[..., dict[str, Any]]
KEY = RecordKey("n1x1", 0, "n1x1.b", 1)
ENDED = Ending(0, False, 30.0, 1000.0, log="")
TRAINING = {"task": "time_to_accuracy", "target_accuracy": 0.9, "data": {"npz": "digits.npz"}}
SEVERAL = {**TRAINING, "strategy": "single", "tasks_per_node": 3}


def learned(seed: int, elapsed_s: float | None, accuracy: float = 0.95) -> dict[str, Any]:
    point = {"epoch": 1, "elapsed_s": elapsed_s or 30.0, "accuracy": accuracy, "trained_s": 1.0}
    return {
        "elapsed_s": elapsed_s,
        "ended_s": 99.0,
        "first_step_s": 0.1,
        "epochs": 1,
        "accuracy": accuracy,
        "curve": [point],
        "seed": seed,
        "held_out_items": 10,
        "started_unix_s": 1e9,
    }


@pytest.fixture
def record_of(
    make_planned: Callable[..., PlannedRun],
    sweep_description: dict[str, Any],
    make_rank: MakeRank,
    make_facts: Callable[..., dict[str, Any]],
) -> Callable[..., dict[str, Any]]:
    """The record of ranks that trained and measured the time of the run: 20 s, and 1 s more on each further rank."""

    def make(*trainings: dict[str, Any], **parameters: Any) -> dict[str, Any]:
        usual = make_facts()["measurements"]
        measured = [{**usual, "times_s": [20.0 + rank], "windows": [[5.0, 25.0, 1]]} for rank in range(len(trainings))]
        facts = [make_facts(learning=each, measurements=own) for each, own in zip(trainings, measured, strict=True)]
        ranks = [make_rank(rank, facts=each) for rank, each in enumerate(facts)]
        outcome = judge(ranks, len(ranks), ENDED)
        made = record_writer.assemble(make_planned(**parameters), sweep_description, KEY, ranks, outcome, 30.0, {})
        found: dict[str, Any] = to_json(made)
        return found

    return make


def test_a_record_has_each_model_and_the_last_one_that_reached_the_target_stands_for_the_run(
    record_of: Callable[..., dict[str, Any]],
) -> None:
    record = record_of(learned(7, 12.0), learned(8, 20.0), learned(9, None, 0.5), **SEVERAL)
    assert record["status"] == "completed"
    assert [(model["seed"], model["elapsed_s"]) for model in record["models"]] == [(7, 12.0), (8, 20.0), (9, None)]
    assert record["learning"] == record["models"][1]
    assert record["measurements"]["times_s"] == [22.0]
    assert record["warnings"] == []


def test_instances_have_the_time_of_the_run_not_a_mean_of_rates(record_of: Callable[..., dict[str, Any]]) -> None:
    parameters = {**TRAINING, "instances": 2, "cpus_per_task": 2}
    record = record_of(learned(7, 12.0), learned(8, 20.0), **parameters)
    assert record["measurements"]["times_s"] == [21.0]
    assert len(record["models"]) == 2


@pytest.mark.parametrize(("strategy", "ranks"), [("ddp", 2), ("single", 1)])
def test_ranks_that_share_a_model_and_a_rank_alone_have_one_training(
    record_of: Callable[..., dict[str, Any]], strategy: str, ranks: int
) -> None:
    record = record_of(*[learned(7, 20.0)] * ranks, **TRAINING, strategy=strategy, tasks_per_node=ranks)
    assert (record["learning"]["elapsed_s"], record["models"]) == (20.0, [])
