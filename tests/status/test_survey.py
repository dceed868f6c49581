"""The state of each run by plan and records alone, from snapshots in memory; by Slurm: test_survey_of_slurm.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.status import STATUSES
from hpcbench.status.progress import PLANNED, Progress
from hpcbench.status.snapshot import Snapshot
from hpcbench.status.survey import survey
from hpcbench.store.sweep import Sweep
from tests.status.queued_sweep import NOWHERE

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


@dataclass
class Local:
    """Four cases in one job on this machine, planned and not run."""

    planned: Callable[..., PlannedRun]
    make_record: MakeRecord
    records: dict[tuple[str, int], list[dict[str, Any]]] = field(default_factory=dict)

    def put(self, element: int, status: str = "completed", **changes: Any) -> None:
        """Add a record of an element; by its clock, each is a second earlier than the one before."""
        number = sum(map(len, self.records.values()))
        ended_at = f"2026-11-01T00:00:{59 - number:02d}.000+00:00"
        made = self.make_record(element, status=status, element=element, ended_at=ended_at, **changes)
        self.records.setdefault(("job-1", element), []).append(made)

    def survey(self, **changes: Any) -> Progress:
        runs = {("job-1", element): self.planned(element) for element in range(4)}
        return survey(Snapshot(Sweep(NOWHERE, DESCRIPTION), runs, self.records, **changes))


@pytest.fixture
def local(make_planned: Callable[..., PlannedRun], make_record: MakeRecord) -> Local:
    return Local(make_planned, make_record)


def test_what_has_no_record_is_still_planned(local: Local) -> None:
    local.put(1)
    local.put(2, "failed")
    progress = local.survey()
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
    local: Local, statuses: list[str], chosen: int
) -> None:
    for number, status in enumerate(statuses):
        local.put(0, status, attempt=number)
    run = local.survey().runs[0]
    assert run.state == statuses[chosen]
    assert run.record is not None
    assert run.record.attempt == chosen + 1, "of all, from 1"


def judged(verdict: str) -> dict[str, Any]:
    found = [{"causes": ["cpu", "memory"], "what": "", "windows": 1, "size": 1.0}] if verdict == "interference" else []
    return {"interference": {"verdict": verdict, "reason": None, "found": found, "windows": []}}


@pytest.mark.parametrize(
    ("attempts", "chosen"),
    [
        (["clean", "interference"], 0),
        (["interference", "clean"], 1),
        (["interference", "interference"], 1),
        (["unmonitored", "interference"], 0),
        (["clean", "unmonitored", "interference"], 1),
        (["interference", "failed"], 0),
        (["interference", "clean", "timeout"], 1),
    ],
)
def test_of_several_attempts_the_last_that_nobody_disturbed_counts(
    local: Local, attempts: list[str], chosen: int
) -> None:
    for number, verdict in enumerate(attempts):
        if verdict in STATUSES:
            local.put(0, verdict, attempt=number)
        else:
            local.put(0, attempt=number, **judged(verdict))
    run = local.survey().runs[0]
    assert run.record is not None
    assert (run.state, run.record.attempt, run.record.attempts) == ("completed", chosen + 1, len(attempts))
    assert run.has_interference == (attempts[chosen] == "interference")


def test_what_disturbed_a_repetition_is_said_and_it_is_run_again_only_if_that_is_asked(local: Local) -> None:
    local.put(0, **judged("interference"))
    local.put(1, **judged("clean"))
    local.put(2, **judged("unmonitored"))
    progress = local.survey()
    assert [run.reason for run in progress.runs] == ["interference: cpu, memory", "", "", ""]
    assert [run.element for run in progress.to_do()] == [3]
    assert [run.element for run in progress.to_do(interference=True)] == [0, 3]


@pytest.mark.parametrize("status", STATUSES)
def test_what_would_end_the_same_way_is_not_run_again(local: Local, status: str) -> None:
    local.put(0, status)
    to_do = [run.element for run in local.survey().to_do()]
    assert to_do == ([1, 2, 3] if status in ("completed", "unsupported") else [0, 1, 2, 3])


def test_what_a_process_of_this_machine_runs_is_running(local: Local) -> None:
    local.put(1)
    progress = local.survey(running_here=frozenset({("job-1", 0)}), warnings=("a line is damaged",))
    assert [run.state for run in progress.runs] == ["running", "completed", PLANNED, PLANNED]
    assert progress.warnings == ("a line is damaged",)
