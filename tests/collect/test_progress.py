"""Where each repetition of a sweep stands, from its plan and its records; Slurm itself has tests of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.collect.progress import PLANNED, survey
from hpcbench.node import outcomes
from hpcbench.node import record as node_record
from hpcbench.node.planned import PlannedRun
from hpcbench.submit.sweep import Sweep
from hpcbench.workspace import SweepPaths

MakeRecord = Callable[..., dict[str, Any]]


@pytest.fixture
def sweep(paths: SweepPaths, make_planned: Callable[..., PlannedRun]) -> Sweep:
    """A local sweep of four cases in one job, planned and not run."""
    paths.jobs.mkdir(parents=True)
    paths.runs("job-1").write_text("".join(make_planned(case).as_line() + "\n" for case in range(4)))
    return Sweep(paths, {"name": "sweep-1", "site": {"scheduler": "local"}, "jobs": {"job-1": {"runs": 4}}})


@pytest.fixture
def put(paths: SweepPaths, make_record: MakeRecord) -> Callable[..., None]:
    """Append a record of one element; each is a second later than the one before."""
    seconds = iter(range(60))

    def append(element: int, status: str = "completed", **changes: Any) -> None:
        ended_at = f"2026-11-01T00:00:{next(seconds):02d}.000+00:00"
        made = make_record(element, status=status, element=element, ended_at=ended_at, **changes)
        node_record.append(made, str(paths.record("job-1", element)))

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
    assert run.record["attempt"] == chosen


@pytest.mark.parametrize("status", outcomes.STATUSES)
def test_what_would_end_the_same_way_is_not_run_again(sweep: Sweep, put: Callable[..., None], status: str) -> None:
    put(0, status)
    to_do = [run.element for run in survey(sweep).to_do()]
    assert to_do == ([1, 2, 3] if status in ("completed", "unsupported") else [0, 1, 2, 3])


def test_a_damaged_line_is_a_warning_that_names_its_place(
    sweep: Sweep, put: Callable[..., None], paths: SweepPaths
) -> None:
    put(0)
    with paths.record("job-1", 0).open("a") as file:
        file.write('{"cut')
    progress = survey(sweep)
    assert progress.runs[0].state == "completed"
    assert len(progress.warnings) == 1
    assert f"{paths.record('job-1', 0)}:2" in progress.warnings[0]
