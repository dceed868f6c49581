"""What stays skipped because something smaller ran out of memory, and what is noted of jobs that left no record."""

from __future__ import annotations

import pytest

from hpcbench.core import status
from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.start_rules import oom_pruning
from hpcbench.status.progress import Progress, RunProgress
from hpcbench.status.reconcile import ConcludedRecord, save
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import SweepPaths
from tests.fixtures.records import a_record


def planned(size: int) -> PlannedRun:
    return PlannedRun(f"c{size}", size, 1, size, {}, {}, {}, {"group": "ab54", "values": {"batch_size": size}})


@pytest.fixture
def sweep(paths: SweepPaths) -> Sweep:
    return Sweep(paths, {"name": paths.name, "experiment": {"name": "e"}})


def run(size: int, state: str, kind: str = status.SKIPPED) -> RunProgress:
    error = None if state == status.COMPLETED else {"type": kind, "message": ""}
    return RunProgress("job-001", size, planned(size), state, record=a_record(error=error))


def test_what_is_larger_than_what_ran_out_of_memory_is_run_again_only_once_that_has_completed(sweep: Sweep) -> None:
    results = str(sweep.paths.results)
    oom_pruning.note(planned(2), status.OUT_OF_MEMORY, results)
    runs = (
        run(1, status.COMPLETED),
        run(2, status.OUT_OF_MEMORY),
        run(3, status.SKIPPED, status.TOO_LARGE),
        run(4, status.SKIPPED),  # the node was not quiet
        run(5, status.FAILED),
    )
    assert Progress(sweep, runs, ()).still_too_large == {("job-001", 3)}
    assert [each.element for each in Progress(sweep, runs, ()).to_do()] == [2, 4, 5]
    oom_pruning.note(planned(2), status.COMPLETED, results)
    assert [each.element for each in Progress(sweep, runs, ()).to_do()] == [2, 3, 4, 5]


def test_what_nobody_remembers_is_run_again(sweep: Sweep) -> None:
    progress = Progress(sweep, (run(3, status.SKIPPED, status.TOO_LARGE),), ())
    assert [each.element for each in progress.to_do()] == [3]


def test_what_slurm_ended_for_memory_is_noted_for_what_is_larger(sweep: Sweep) -> None:
    record = a_record(status=status.OUT_OF_MEMORY, job="job-001", element=2)
    assert save(sweep, [ConcludedRecord(record, planned(2))], "") == []
    found = oom_pruning.notes(planned(3), str(sweep.paths.results))
    assert [(note.status, note.case, note.values) for note in found] == [("out_of_memory", "c2", {"batch_size": 2})]
