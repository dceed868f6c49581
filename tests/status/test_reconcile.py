"""Outcomes of runs whose job left no record are saved: once, by one hpcbench at a time, and never lost in silence."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.profiling.operator_row import OperatorRow
from hpcbench.core.run_spec import PlannedRun
from hpcbench.core.typed_json import to_json
from hpcbench.slurm.client import NoAnswerError
from hpcbench.slurm.job_entry import JobEntry
from hpcbench.status import reconcile as reconciling
from hpcbench.status.evidence import JobState
from hpcbench.status.progress import Progress
from hpcbench.status.query import query
from hpcbench.status.reconcile import ConcludedRecord, alone, concluded_record, reconcile, save
from hpcbench.status.snapshot import ArrayIndex, Snapshot, take_snapshot
from hpcbench.status.survey import EndedWithoutRecord
from hpcbench.store.journal import Batch, Journal
from hpcbench.store.records import RECONCILED, Record, read_file
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from tests.status.queued_sweep import BATCH, DESCRIPTION, Cluster, accounted, queued

SWEEP = {
    "name": "sweep-1",
    "experiment": {"name": "experiment-1"},
    "site": {"name": "laptop"},
    "hpcbench_version": "0.1.0",
    "git": None,
}


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    found = Sweep(Workspace(tmp_path).paths("sweep-1"), SWEEP)
    found.paths.results.mkdir(parents=True)
    return found


def remains(sweep: Sweep, element: int, planned: PlannedRun, **changes: Any) -> EndedWithoutRecord:
    """What a job of three runs has left of one of them, after its node failed."""
    place = ArrayIndex(Batch(sweep.paths, "job-001.beef", "42"), element // 3, (0, 1, 2))
    return EndedWithoutRecord(place, element, planned, JobEntry("NODE_FAIL"), job=JobState("ended"), **changes)


@pytest.fixture
def concluded(sweep: Sweep, make_planned: Callable[..., PlannedRun]) -> list[ConcludedRecord]:
    """Of thirty runs that left no record, in packs of three."""
    return [concluded_record(sweep, remains(sweep, element, make_planned(element))) for element in range(30)]


def test_a_link_in_place_of_the_lock_is_not_followed(sweep: Sweep) -> None:
    """The folder may be one that colleagues share."""
    target = sweep.paths.results / "target"
    target.write_text("kept")
    sweep.paths.records.mkdir()
    (sweep.paths.records / ".reconciling").symlink_to(target)
    with alone(sweep) as reason:
        assert reason.endswith("Too many levels of symbolic links")
    assert target.read_text() == "kept"


def test_what_is_concluded_is_saved(sweep: Sweep, concluded: list[ConcludedRecord]) -> None:
    with alone(sweep) as reason:
        assert save(sweep, concluded, reason) == []
    found = read_file(sweep.paths.records / RECONCILED)
    assert [record.element for record in found] == list(range(30))


def test_a_second_hpcbench_waits_for_the_first_but_not_for_ever(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconciling, "TIMEOUT_S", 0.2)
    with alone(sweep), pytest.raises(NoAnswerError, match="another hpcbench is saving the outcomes"), alone(sweep):
        pass


def test_if_nothing_can_be_written_there_is_a_warning(sweep: Sweep, concluded: list[ConcludedRecord]) -> None:
    sweep.paths.records.write_text("a file where the folder should be: the user that runs tests may write anywhere")
    with alone(sweep) as reason:
        (warning,) = save(sweep, concluded, reason)
    assert warning.startswith(f"30 outcomes not saved: {sweep.paths.records}: ")


def test_a_disk_that_is_full_is_a_warning_and_nothing_is_removed(
    sweep: Sweep, make_planned: Callable[..., PlannedRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(records: list[Record], path: str) -> None:
        raise OSError(28, "No space left on device")

    scratch = sweep.paths.running("job-001.beef") / "3-1"
    scratch.mkdir(parents=True)
    made = concluded_record(sweep, remains(sweep, 3, make_planned(), files=[scratch]))
    monkeypatch.setattr(reconciling.node_record, "append_all", full)
    with alone(sweep) as reason:
        (warning,) = save(sweep, [made], reason)
    assert warning == f"1 outcome not saved: {sweep.paths.records / RECONCILED}: No space left on device"
    assert scratch.exists()


def profiled(sweep: Sweep, planned: PlannedRun) -> tuple[Path, ConcludedRecord]:
    """The scratch folder of a run with one row of an operator profile, and its record."""
    folder = sweep.paths.running("job-001.beef") / "3-1"
    folder.mkdir(parents=True)
    (folder / "operators.jsonl").write_text(json.dumps(to_json(OperatorRow("gemm", "mm", "forward", "{}"))) + "\n")
    return folder, concluded_record(sweep, remains(sweep, 3, planned, files=[folder]))


def test_the_rows_of_a_profile_are_kept_before_the_record(
    sweep: Sweep, make_planned: Callable[..., PlannedRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(records: list[Record], path: str) -> None:
        raise KeyboardInterrupt

    _, made = profiled(sweep, make_planned())
    monkeypatch.setattr(reconciling.node_record, "append_all", die)
    with alone(sweep) as reason, pytest.raises(KeyboardInterrupt):
        save(sweep, [made], reason)
    assert [path.name for path in (sweep.paths.results / "operators").rglob("*.jsonl")] == ["reconciled.jsonl"]


@pytest.mark.parametrize("is_in_the_way", [True, False])
def test_only_rows_that_cannot_be_kept_stay_in_the_scratch_folder(
    sweep: Sweep, make_planned: Callable[..., PlannedRun], is_in_the_way: bool
) -> None:
    folder, made = profiled(sweep, make_planned())
    if is_in_the_way:
        (sweep.paths.results / "operators").write_text("")
    with alone(sweep) as reason:
        assert save(sweep, [made._replace(submitted_by=os.getuid())], reason) == []
    assert folder.exists() == is_in_the_way


OTHERS_RUN = queued("0|RUNNING|None|n1", "2|RUNNING|None|n1")
LOST = accounted("1|NODE_FAIL|0:0|n1")


def test_the_outcome_of_a_run_without_a_record_is_saved_once_and_its_folder_removed(cluster: Cluster) -> None:
    scratch = cluster.begin(3)
    cluster.log(1)
    for _ in range(2):
        progress = cluster.reconcile(OTHERS_RUN, LOST)
        assert (progress.runs[3].state, progress.warnings) == ("node_failure", ())
        assert cluster.saved == [3]
    assert not scratch.exists()


def test_what_hpcbench_cannot_evaluate_has_failed_and_the_others_have_their_outcomes(cluster: Cluster) -> None:
    rank = {"rank": 0, "host": "n1", "exit_code": 1, "signal": None, "stopped_by": None, "facts": None}
    rest = {"started_at": 1.0, "ended_at": "soon", "node": {"hostname": "n1"}, "oom_kills": 0, "last_lines": []}
    (cluster.begin(0) / "rank-0.json").write_text(json.dumps({**rank, **rest}))
    progress = cluster.reconcile(sacct=accounted("0|FAILED|1:0|n1", "1|FAILED|1:0|n1", "2|FAILED|1:0|n1"))
    assert "hpcbench cannot evaluate what the run left: ValueError" in progress.runs[0].reason
    assert [run.state for run in progress.runs] == ["failed", "planned", "planned", *3 * ["node_failure"]]


def test_files_that_cannot_be_read_now_are_evaluated_later(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(scratch: str) -> object:
        raise OSError(errno.EIO, "Input/output error")

    scratch = cluster.begin(3)
    ended = accounted("0|FAILED|1:0|n1", "1|FAILED|1:0|n1", "2|FAILED|1:0|n1")
    with monkeypatch.context() as broken:
        broken.setattr(reconciling.node_record, "read_ranks", fail)
        progress = cluster.reconcile(sacct=ended)
    assert (progress.runs[3].state, progress.runs[3].record) == ("failed", None)
    assert scratch.exists()
    assert cluster.reconcile(sacct=ended).runs[3].record is not None
    assert not scratch.exists()


def test_a_pack_whose_script_gave_up_is_saved_with_what_it_said(cluster: Cluster) -> None:
    cluster.log(0, "hpcbench: gave up: module load gcc failed\n")
    progress = cluster.reconcile(queued("1|RUNNING|None|n1", "2|RUNNING|None|n1"), accounted("0|FAILED|1:0|n1"))
    assert [(run.state, run.reason) for run in progress.runs[:3]] == 3 * [("failed", "module load gcc failed")]
    assert cluster.saved == [0, 1, 2]


def test_if_nothing_is_to_be_saved_nothing_is_written(cluster: Cluster) -> None:
    cluster.reconcile(queued("0|RUNNING|None|n1", "1|PENDING|Priority|", "2|PENDING|Priority|"))
    assert not cluster.sweep.paths.results.exists()


def test_what_another_hpcbench_saves_while_the_accounting_is_asked_counts(cluster: Cluster) -> None:
    """It has seen that the ranks had ended well, and used up what they left."""
    scratch = cluster.begin(3)
    cluster.record(3, index=1)
    theirs = cluster.sweep.paths.records / BATCH / "7_1.jsonl"
    theirs = theirs.rename(cluster.sweep.paths.records / "waiting")
    reconciled = cluster.sweep.paths.records / RECONCILED
    cluster.say(OTHERS_RUN)
    cluster.fake(
        sacct=f"while read -r line; do echo \"$line\"; done < '{theirs}' > '{reconciled}'; exec /bin/rmdir '{scratch}'",
    )
    progress = reconcile(cluster.sweep)
    assert (progress.runs[3].state, progress.warnings, scratch.exists()) == ("completed", (), False)
    assert cluster.saved == [3]


@pytest.mark.parametrize("ask", [query, reconcile])
def test_what_another_hpcbench_saves_after_the_snapshot_counts(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, ask: Callable[[Sweep], Progress]
) -> None:
    """Its record tells what was in the folder that it has removed."""
    scratch = cluster.begin(3)
    cluster.say(OTHERS_RUN, LOST)

    def overtaken(sweep: Sweep, **options: Any) -> Snapshot:
        first = take_snapshot(sweep, **options)
        cluster.record(3, index=1)
        shutil.rmtree(scratch)
        return first

    monkeypatch.setattr(sys.modules[ask.__module__], "take_snapshot", overtaken)
    progress = ask(cluster.sweep)
    assert (progress.runs[3].state, progress.warnings, cluster.saved) == ("completed", (), [])


@pytest.mark.parametrize("folder", [BATCH, f"{BATCH}.1"])
@pytest.mark.parametrize("ask", [query, reconcile])
def test_a_record_that_comes_while_the_accounting_is_asked_counts(
    cluster: Cluster, folder: str, ask: Callable[[Sweep], Progress]
) -> None:
    """And nothing is concluded, also if the job was started again."""
    cluster.record(3, index=1)
    waiting = cluster.sweep.paths.records / BATCH / "waiting"
    (waiting.parent / "7_1.jsonl").rename(waiting)
    file = waiting.parent.with_name(folder) / "7_1.jsonl"
    file.parent.mkdir(exist_ok=True)
    cluster.say(OTHERS_RUN)
    cluster.fake(
        sacct=f"while read -r line; do echo \"$line\"; done < '{waiting}' > '{file}'\n"
        f"echo '{accounted('1|COMPLETED|0:0|n1')}'",
    )
    progress = ask(cluster.sweep)
    assert (progress.runs[3].state, progress.warnings) == ("completed", ())
    assert cluster.saved == []


def test_a_journal_that_cannot_be_written_is_a_warning(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Journal, "unknown_to_slurm", full)
    progress = cluster.reconcile("", "")
    (warning,) = progress.warnings
    assert warning.endswith("journal.jsonl: No space left on device; jobs that Slurm does not know stay unknown")


@pytest.mark.integration
def test_several_that_save_at_the_same_time_conclude_once(cluster: Cluster) -> None:
    """Four processes, and fake Slurm commands."""
    paths = cluster.sweep.paths
    cluster.say("", accounted("0|CANCELLED by 0|0:0|").replace("7_0", "7"))
    program = f"""
import pathlib
from hpcbench.status.reconcile import reconcile
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import SweepPaths
paths = SweepPaths("sweep-1", *map(pathlib.Path, {[str(paths.jobs), str(paths.results)]!r}))
input()
told = reconcile(Sweep(paths, {DESCRIPTION!r}))
print(told.warnings, *told.counts().items())
"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    started = [subprocess.Popen([sys.executable, "-c", program], **pipes) for _ in range(4)]  # type: ignore[call-overload]
    for process in started:
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.communicate()[0] for process in started] == 4 * ["() ('cancelled', 6)\n"]
    assert cluster.saved == list(range(6))


def test_results_that_cannot_be_written_are_a_warning_and_the_state_is_shown(cluster: Cluster) -> None:
    cluster.sweep.paths.records.parent.mkdir(parents=True)
    cluster.sweep.paths.records.write_text("a file where the folder should be")
    progress = cluster.reconcile(OTHERS_RUN, LOST)
    assert progress.runs[3].state == "node_failure"
    assert len(progress.warnings) == 1
    assert progress.warnings[0].startswith("1 outcome not saved: ")
