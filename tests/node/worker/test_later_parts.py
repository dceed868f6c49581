"""What follows a measurement, with a stand-in of a few lines for the framework."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.run_spec import PlannedRun
from hpcbench.node import frameworks
from hpcbench.node.errors import BadModel, Invalid, Missed
from hpcbench.node.launch.rank_files import Files
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.worker import worker
from hpcbench.node.worker.tasks import time_to_accuracy
from hpcbench.node.worker.validation import of_run
from tests.node.worker.test_worker import Stand

Worker = Callable[..., tuple[dict[str, Any], list[dict[str, Any]]]]
ENDED = "the process of the rank ended before it was complete"
TRAINING = {"task": "training", "validate": True}


class Profiled(Stand):
    """A framework with a profile that has a warning."""

    def profile(self, *_: Any) -> list[str]:
        return ["profiled"]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, make_planned: Callable[..., PlannedRun], tmp_path: Path) -> Worker:
    """The facts of a worker that has all parts, and those that it has saved before each part."""

    def facts(**parameters: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        monkeypatch.setattr(frameworks, "load", lambda framework: Profiled())
        planned, saved = make_planned(**parameters), list[dict[str, Any]]()
        measure = {**planned.measure, "profile": {"power": "off"}, "trajectory": {"steps": 2}}
        files = Files(str(tmp_path / "operators.jsonl"), str(tmp_path / "trajectory.npy"))
        planned = planned._replace(measure=measure, run=1)
        save = lambda early: saved.append(copy.deepcopy(early))  # noqa: E731
        return worker.run(planned, Ranks(0, 1, host="n1"), None, files, save), saved

    return facts


def with_validation(monkeypatch: pytest.MonkeyPatch, validate_run: Callable[..., object]) -> None:
    monkeypatch.setattr(of_run, "validate_run", validate_run)


def test_the_result_leaves_the_worker_before_each_part(run: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    with_validation(monkeypatch, lambda adapter, network, facts: not facts.update(validation={"verdict": "passed"}))
    facts, saved = run(**TRAINING)
    assert [each["status"] for each in saved] == ["completed"] * 3
    assert all(each["measurements"] == facts["measurements"] for each in saved)
    assert [each["validation"].get("reason") for each in saved] == [ENDED, None, None]
    assert [each["trajectory"]["reason"] == ENDED for each in saved] == [True, True, False]
    assert [each["warnings"][-1:] for each in saved] == [[f"profile: {ENDED}"]] * 3
    assert facts["warnings"] == ["profiled"]


def test_a_run_without_parts_saves_nothing_early(
    monkeypatch: pytest.MonkeyPatch, make_planned: Callable[..., PlannedRun]
) -> None:
    monkeypatch.setattr(frameworks, "load", lambda framework: Stand())
    saved: list[Any] = []
    assert worker.run(make_planned(), Ranks(0, 1, host="n1"), save=saved.append)["status"] == "completed"
    assert saved == []


def test_an_error_of_the_validation_leaves_the_measurement_and_the_other_parts(
    run: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise ConnectionError("rank 1 has ended\nat once")

    with_validation(monkeypatch, fail)
    facts, _ = run(**TRAINING)
    assert (facts["status"], facts["validation"]["verdict"]) == ("completed", "not validated")
    assert facts["validation"]["reason"] == "it failed (ConnectionError: rank 1 has ended)"
    assert facts["warnings"] == ["profiled"]


def test_a_failed_validation_fails_the_run_and_is_the_reason_without_other_parts(
    run: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise Invalid("the output is wrong")

    with_validation(monkeypatch, fail)
    facts, saved = run(**TRAINING)
    assert (facts["status"], facts["error"]["message"]) == ("failed", "the output is wrong")
    assert facts["trajectory"]["reason"] == "the validation failed"
    assert facts["warnings"] == ["profile: the validation failed"]
    assert len(saved) == 1


def test_an_error_in_a_file_of_the_user_fails_the_run_and_leaves_the_measurement(
    run: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise BadModel("operator: op.py:3: 'reference' failed", ["NameError: name 'x' is not defined"])

    with_validation(monkeypatch, fail)
    facts, saved = run(**TRAINING)
    assert (facts["status"], facts["error"]["type"]) == ("failed", "model")
    assert facts["error"]["message"] == "operator: op.py:3: 'reference' failed"
    assert facts["measurements"] == saved[0]["measurements"]
    assert facts["validation"]["verdict"] == "not validated"
    reason = "the user's code failed in the validation"
    assert (facts["validation"]["reason"], facts["trajectory"]["reason"]) == (reason, reason)


@pytest.mark.parametrize("parts", [1, 2])
def test_out_of_memory_in_the_validation_leaves_the_run_completed_without_further_steps_in_common(
    run: Worker, monkeypatch: pytest.MonkeyPatch, parts: int
) -> None:
    def fail(*_: Any) -> None:
        if parts == 1:
            raise MemoryError
        raise BadModel("operator: 'reference' failed") from MemoryError()

    closed: list[Any] = []
    monkeypatch.setattr(worker, "_close", lambda *given: closed.append(given))
    run(task="training")
    assert closed.pop()
    monkeypatch.setattr(of_run, "_validation", fail)
    facts, _ = run(**TRAINING)
    assert (facts["status"], facts["validation"]["reason"]) == ("completed", "the validation ran out of memory")
    assert not closed, "another rank may still exchange data of the validation"


def test_a_missed_target_is_the_reason_without_parts(run: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    def miss(network: Any) -> Any:
        raise Missed("the best accuracy was 0.5", {})

    monkeypatch.setattr(time_to_accuracy, "measure", miss)
    facts, saved = run(task="training", validate=True)
    assert facts["status"] == "completed"
    monkeypatch.setattr(worker, "TIME_TO_ACCURACY", "training")  # its data are not needed here
    facts, saved = run(**TRAINING)
    reason = "the training missed its target accuracy"
    assert (facts["error"]["type"], saved) == ("missed", [])
    assert (facts["validation"]["reason"], facts["trajectory"]["reason"]) == (reason, reason)
    assert facts["warnings"] == [f"profile: {reason}"]
