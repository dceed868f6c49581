"""Failures that another attempt would not change, and what to change instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.record import Record
from hpcbench.core.run_spec import PlannedRun
from hpcbench.status.fails_again import failing_again, how_to_continue, waiting_in_vain
from hpcbench.status.progress import Progress, RunProgress
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace

MakeProgress = Callable[..., Progress]
KILLED = {"type": "killed", "message": "rank 0 on n1 was killed after 12 s", "last_lines": []}
AGAIN = {**KILLED, "message": "rank 3 on n2 was killed after 7 s"}


@pytest.fixture
def progress(
    tmp_path: Path, make_planned: Callable[..., PlannedRun], make_record: Callable[..., Record]
) -> MakeProgress:
    """A run per case and repetition; each has the records of its attempts, given by status and error."""

    def make(*runs: tuple[int, list[tuple[str, dict[str, Any] | None]]]) -> Progress:
        sweep = Sweep(Workspace(tmp_path).paths("sweep-1"), {})
        found = []
        for number, (case, attempts) in enumerate(runs):
            records = tuple(make_record(case, number, status=status, error=error) for status, error in attempts)
            run = RunProgress("job-1", number, make_planned(case, number), records[-1].status)
            found.append(replace(run, record=records[-1], attempts=records))
        return Progress(sweep, tuple(found), ())

    return make


@pytest.mark.parametrize("kind", ["setup", "metric", "data", "parameters", "ModuleNotFoundError", "SyntaxError"])
def test_an_error_that_does_not_depend_on_the_attempt_is_not_resumed(progress: MakeProgress, kind: str) -> None:
    found = progress((0, [("failed", {**KILLED, "type": kind})]))
    assert len(failing_again(found)) == 1
    said = how_to_continue(found)
    assert "hpcbench resume" not in said
    assert said.startswith("1 run would fail again: ")
    assert said.endswith("; then start a new sweep")


def test_a_failure_of_one_attempt_may_be_chance(progress: MakeProgress) -> None:
    found = progress((0, [("failed", KILLED)]))
    assert failing_again(found) == []
    assert how_to_continue(found) == "to resume 1 run: hpcbench resume sweep-1"


def test_the_same_failure_in_each_attempt_is_not_resumed_whatever_its_numbers(progress: MakeProgress) -> None:
    assert len(failing_again(progress((0, [("failed", KILLED), ("failed", AGAIN)])))) == 1
    assert len(failing_again(progress((0, [("failed", KILLED)]), (0, [("failed", AGAIN)])))) == 2
    assert failing_again(progress((0, [("failed", KILLED)]), (1, [("failed", AGAIN)]))) == []


@pytest.mark.parametrize("other", [("completed", None), ("failed", {**KILLED, "message": "it broke"})])
def test_different_outcomes_of_a_case_are_resumed(progress: MakeProgress, other: Any) -> None:
    assert failing_again(progress((0, [("failed", KILLED)]), (0, [other]))) == []


@pytest.mark.parametrize("status", ["cancelled", "node_failure", "preempted"])
def test_what_the_program_did_not_cause_is_resumed(progress: MakeProgress, status: str) -> None:
    found = progress((0, [(status, KILLED), (status, KILLED)]))
    assert failing_again(found) == []


def test_both_kinds_are_named(progress: MakeProgress) -> None:
    found = progress((0, [("failed", KILLED)]), (1, [("out_of_memory", KILLED), ("out_of_memory", AGAIN)]))
    assert how_to_continue(found) == (
        "to resume 1 run: hpcbench resume sweep-1; 1 run would fail again: request more memory, or use "
        "smaller cases; then start a new sweep"
    )


def test_runs_of_unknown_state_are_told_with_the_option_that_repeats_them(progress: MakeProgress) -> None:
    found = progress((0, [("failed", KILLED)]), (1, [("completed", None)]))
    lost = replace(found.runs[1], state="unknown", record=None, attempts=())
    said = how_to_continue(replace(found, runs=(found.runs[0], lost)))
    assert said == (
        "to resume 1 run: hpcbench resume sweep-1; not run again without --force: 1 run in an unknown state"
    )


LIMIT = "it exceeds the QOS's limit on CPUs per job: it will not start (QOSMaxCpuPerJobLimit)"


def test_a_request_that_slurm_never_grants_is_not_resumed_after_a_cancel(progress: MakeProgress) -> None:
    found = progress((0, [("never_started", {**KILLED, "message": f"Slurm never started it: {LIMIT}"})]))
    assert how_to_continue(found) == (
        "1 run would fail again: request less in the experiment, or check slurm.account and slurm.qos; "
        "then start a new sweep"
    )


def test_a_job_whose_dependency_failed_is_resumed(progress: MakeProgress) -> None:
    words = "Slurm never started it: it depends on another job (Dependency)"
    found = progress((0, [("never_started", {**KILLED, "message": words})]))
    assert how_to_continue(found) == "to resume 1 run: hpcbench resume sweep-1"


@pytest.mark.parametrize(("reason", "in_vain"), [(LIMIT, 1), ("it is held (JobHeldUser)", 0)])
def test_a_job_in_the_queue_whose_request_slurm_will_not_grant_waits_in_vain(
    progress: MakeProgress, reason: str, in_vain: int
) -> None:
    found = progress((0, [("completed", None)]))
    waits = replace(found.runs[0], state="never_started", record=None, attempts=(), reason=reason, in_queue=True)
    found = replace(found, runs=(waits,))
    assert len(waiting_in_vain(found)) == in_vain
    assert how_to_continue(found) == "", "resume leaves it in the queue"
