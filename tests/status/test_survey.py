"""Where each repetition of a sweep stands, from plan and records; for what Slurm says see test_progress_in_queue.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.status import STATUSES
from hpcbench.node.results import record_writer as node_record
from hpcbench.status.progress import PLANNED
from hpcbench.status.survey import survey
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import SweepPaths

MakeRecord = Callable[..., dict[str, Any]]


RETRY = {"max": 2, "on": ["node_failure", "preempted"]}
DESCRIPTION = {
    "name": "sweep-1",
    "hpcbench_version": "0.1.0",
    "git": None,
    "site": {"name": "here", "scheduler": "local"},
    "experiment": {"name": "trial", "retry": RETRY},
    "jobs": {"job-1": {"slurm": {}, "width": 1}},
}


@pytest.fixture
def sweep(paths: SweepPaths, make_planned: Callable[..., PlannedRun]) -> Sweep:
    """A local sweep of four cases in one job, planned and not run."""
    paths.jobs.mkdir(parents=True)
    paths.runs("job-1").write_text("".join(make_planned(case).as_line() + "\n" for case in range(4)))
    return Sweep(paths, DESCRIPTION)


@pytest.fixture
def put(paths: SweepPaths, make_record: MakeRecord) -> Callable[..., None]:
    """Append a record of one element; by its clock, each is a second earlier than the one before."""
    seconds = iter(range(59, 0, -1))

    def append(element: int, status: str = "completed", **changes: Any) -> None:
        ended_at = f"2026-11-01T00:00:{next(seconds):02d}.000+00:00"
        made = make_record(element, status=status, element=element, ended_at=ended_at, **changes)
        node_record.append(made, str(paths.local_records("job-1")))

    return append


def test_what_has_no_record_is_still_planned(sweep: Sweep, put: Callable[..., None]) -> None:
    put(1)
    put(2, "failed")
    progress = survey(sweep)
    assert [run.state for run in progress.runs] == [PLANNED, "completed", "failed", PLANNED]
    assert progress.counts() == {PLANNED: 2, "completed": 1, "failed": 1}
    assert [run.ended for run in progress.runs] == [False, True, True, False]
    assert progress.runs[2].reason == "it broke"


@pytest.mark.parametrize(
    ("statuses", "chosen"),
    [
        (["failed", "completed"], 1),
        (["completed", "failed"], 0),
        (["failed", "timeout"], 1),
        (["completed", "completed"], 1),
        (["failed", "completed", "cancelled"], 1),
        (["timeout"], 0),
    ],
)
def test_of_several_attempts_the_last_completed_one_counts_else_the_last(
    sweep: Sweep, put: Callable[..., None], statuses: list[str], chosen: int
) -> None:
    for number, status in enumerate(statuses):
        put(0, status, attempt=number)
    run = survey(sweep).runs[0]
    assert run.state == statuses[chosen]
    assert run.record is not None
    assert run.record["attempt"] == chosen + 1, "of all, from 1"


def judged(verdict: str) -> dict[str, Any]:
    found = [{"causes": ["cpu", "memory"], "what": "", "windows": 1, "size": 1.0}] if verdict == "disturbed" else []
    return {"interference": {"verdict": verdict, "reason": None, "found": found, "windows": []}}


@pytest.mark.parametrize(
    ("attempts", "chosen"),
    [
        (["clean", "disturbed"], 0),
        (["disturbed", "clean"], 1),
        (["disturbed", "disturbed"], 1),
        (["unmonitored", "disturbed"], 0),
        (["clean", "unmonitored", "disturbed"], 1),
        (["disturbed", "failed"], 0),
        (["disturbed", "clean", "timeout"], 1),
    ],
)
def test_of_several_attempts_the_last_that_nobody_disturbed_counts(
    sweep: Sweep, put: Callable[..., None], attempts: list[str], chosen: int
) -> None:
    for number, verdict in enumerate(attempts):
        if verdict in STATUSES:
            put(0, verdict, attempt=number)
        else:
            put(0, attempt=number, **judged(verdict))
    run = survey(sweep).runs[0]
    assert run.record is not None
    assert (run.state, run.record["attempt"], run.record["attempts"]) == ("completed", chosen + 1, len(attempts))
    assert run.is_disturbed == (attempts[chosen] == "disturbed")


def test_what_disturbed_a_repetition_is_said_and_it_is_run_again_only_if_that_is_asked(
    sweep: Sweep, put: Callable[..., None]
) -> None:
    put(0, **judged("disturbed"))
    put(1, **judged("clean"))
    put(2, **judged("unmonitored"))
    progress = survey(sweep)
    assert [run.reason for run in progress.runs] == ["disturbed: cpu, memory", "", "", ""]
    assert [run.element for run in progress.to_do()] == [3]
    assert [run.element for run in progress.to_do(disturbed=True)] == [0, 3]


@pytest.mark.parametrize("status", STATUSES)
def test_what_would_end_the_same_way_is_not_run_again(sweep: Sweep, put: Callable[..., None], status: str) -> None:
    put(0, status)
    to_do = [run.element for run in survey(sweep).to_do()]
    assert to_do == ([1, 2, 3] if status in ("completed", "unsupported") else [0, 1, 2, 3])


def test_a_damaged_line_is_a_warning_that_names_its_place(
    sweep: Sweep, put: Callable[..., None], paths: SweepPaths
) -> None:
    put(0)
    with paths.local_records("job-1").open("a") as file:
        file.write('{"cut')
    progress = survey(sweep)
    assert progress.runs[0].state == "completed"
    assert len(progress.warnings) == 1
    assert f"{paths.local_records('job-1')}:2" in progress.warnings[0]
