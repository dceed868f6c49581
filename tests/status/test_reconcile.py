"""Outcomes of runs whose script could not write a record: what is concluded, and how it is saved."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.run_spec import PlannedRun
from hpcbench.slurm.client import NoAnswerError
from hpcbench.slurm.queue import QueueEntry
from hpcbench.status import reconcile as reconciling
from hpcbench.status.progress import Progress
from hpcbench.status.query import query
from hpcbench.status.reconcile import ConcludedRecord, alone, concluded_record, reconcile, reconcile_local, save
from hpcbench.status.snapshot import ArrayIndex
from hpcbench.status.survey import EndedWithoutRecord
from hpcbench.store.journal import Batch
from hpcbench.store.records import RECONCILED, Record, read_file
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from tests.status.queued_sweep import BATCH, DESCRIPTION, Cluster, queued

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


@pytest.fixture
def made(sweep: Sweep, make_planned: Callable[..., PlannedRun]) -> Callable[..., Record]:
    """The record of a repetition whose log is `text`, if there is one; on Slurm, where an entry or a state is given."""

    def make(text: str | None, entry: str | QueueEntry | None = None) -> Record:
        slurm_id = "42" if entry else None
        log = sweep.paths.log("job-001.beef", 0, slurm_id) if entry else sweep.paths.log("job-001", 3, None)
        if text is not None:
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(text)
        if entry is None:
            return reconcile_local(sweep, "job-001", 3, make_planned())
        place = ArrayIndex(Batch(sweep.paths, "job-001.beef", slurm_id), 0, (3,))
        given = QueueEntry(entry, ended=True) if isinstance(entry, str) else entry
        scratch = list(sweep.paths.running("job-001.beef").glob("3-*"))
        ended = EndedWithoutRecord(place, 3, make_planned(), given, text is not None, scratch)
        concluded = concluded_record(sweep, ended)
        with alone(sweep) as reason:
            assert save(sweep, [concluded], reason) == []
        assert read_file(sweep.paths.records / RECONCILED) == [json.loads(json.dumps(concluded.record))]
        return concluded.record

    return make


LMOD = """Loading gcc 12
Lmod has detected the following error: The following module(s) are unknown:
"foo/1.2"

Please check the spelling or version number.
hpcbench: gave up: module load foo/1.2 failed
"""


@pytest.mark.parametrize("state", [None, "FAILED"])
def test_a_script_that_gave_up_is_quoted_with_what_it_said_before(made: Callable[..., Any], state: str | None) -> None:
    record = made(LMOD, state)
    assert record["status"] == "failed"
    assert record["error"]["type"] == "setup"
    assert record["error"]["message"] == (
        "module load foo/1.2 failed: Loading gcc 12 Lmod has detected the following error: The following module(s) are "
        'unknown: "foo/1.2" Please check the spelling or version number.'
    )
    assert record["error"]["last_lines"] == LMOD.splitlines()


def test_of_much_that_was_said_the_end_is_quoted(made: Callable[..., Any]) -> None:
    message = made("x" * 5000 + " the end\nhpcbench: gave up: it failed\n")["error"]["message"]
    assert message.startswith("it failed: xxx")
    assert message.endswith("xxx the end")
    assert len(message) < 600


def test_a_script_that_gave_up_without_a_word_before_is_quoted_alone(made: Callable[..., Any]) -> None:
    record = made("hpcbench: gave up: there is no module command on n1\n")
    assert record["error"]["message"] == "there is no module command on n1"


def test_another_end_is_told_with_what_slurm_says_and_the_last_line(made: Callable[..., Any]) -> None:
    message = made("one\ntwo\n\n", "FAILED")["error"]["message"]
    assert message == "its job ended without leaving a record; Slurm says FAILED; its log ends: two"
    assert made("")["error"]["message"] == "its job ended without leaving a record"


def test_what_the_monitors_had_seen_until_the_job_died_is_kept(made: Callable[..., Any], sweep: Sweep) -> None:
    results = sweep.paths.results
    scratch = results / "running" / "job-001.beef" / "3-4711-0-1"
    scratch.mkdir(parents=True)
    (scratch / "monitor-n1.jsonl").write_text("what it saw\n")
    other = scratch.with_name("33-4711-0-1")
    other.mkdir()
    made("slurmstepd: error: *** JOB 42 ON n1 CANCELLED ***\n", "NODE_FAIL")
    (kept,) = (results / "timelines").rglob("*.gz")
    assert kept.relative_to(results) == Path("timelines/job-001.beef/reconciled.jsonl.gz")
    assert gzip.decompress(kept.read_bytes()) == b"what it saw\n"
    assert list(scratch.parent.iterdir()) == [other]


FAILED, CANCELLED = "FAILED", "CANCELLED"
NODE = {"ended": True, "nodes": "n7"}


@pytest.mark.parametrize(
    ("entry", "status", "words"),
    [
        (QueueEntry("CANCELLED by 0", **NODE), "cancelled", "cancelled before it started"),
        (QueueEntry(CANCELLED, True, "Priority"), "cancelled", "cancelled before it started"),
        (QueueEntry(CANCELLED, True, "JobHeldUser"), "cancelled", "cancelled before it started"),
        (QueueEntry("CANCELLED by 7", True, "Dependency"), "cancelled", "cancelled before it started"),
        (QueueEntry(CANCELLED, True, "DependencyNeverSatisfied"), "never_started", "Slurm never started it: it waits"),
        (
            QueueEntry(CANCELLED, True, "Dependency", exit_code="0:0"),
            "never_started",
            "Slurm never started it: it waits",
        ),
        (QueueEntry(FAILED, True, "BadConstraints"), "never_started", "no node has the features asked for"),
        (
            QueueEntry(FAILED, reason="JobLaunchFailure", **NODE),
            "node_failure",
            "n7 could not write {log}: does it see",
        ),
        (QueueEntry(FAILED, exit_code="0:53", **NODE), "node_failure", "n7 could not write {log}: does it see this"),
        (
            QueueEntry(FAILED, exit_code="1:0", **NODE),
            "node_failure",
            "its script never began on n7; Slurm says FAILED",
        ),
        (QueueEntry("NODE_FAIL", **NODE), "node_failure", "Slurm says NODE_FAIL"),
        (QueueEntry("PREEMPTED", **NODE), "preempted", "Slurm says PREEMPTED"),
        (QueueEntry("OUT_OF_MEMORY", **NODE), "out_of_memory", "Slurm says OUT_OF_MEMORY"),
        (QueueEntry("TIMEOUT", **NODE), "timeout", "Slurm says TIMEOUT"),
    ],
    ids=lambda value: f"{value.state} {value.reason or value.exit_code}" if isinstance(value, QueueEntry) else None,
)
def test_a_job_that_has_printed_nothing_ended_as_slurm_says(
    made: Callable[..., Any], sweep: Sweep, entry: QueueEntry, status: str, words: str
) -> None:
    record = made(None, entry)
    assert record["status"] == status
    assert words.format(log=sweep.paths.log("job-001.beef", 0, "42")) in record["error"]["message"]
    assert (record["element"], record["batch"], record["attempt"]) == (3, "job-001.beef", None)
    assert record["slurm"] == {"array_job_id": "42", "array_task_id": "0"}
    assert record["samples"] is None


@pytest.mark.parametrize(
    ("entry", "status"),
    [
        (QueueEntry("CANCELLED by 0", True, "Priority"), "cancelled"),
        (QueueEntry(CANCELLED, True, "Dependency"), "cancelled"),
        (QueueEntry(FAILED, True, "BadConstraints"), "failed"),
        (QueueEntry(FAILED, True, exit_code="1:0"), "failed"),
    ],
)
def test_a_job_that_has_printed_something_has_started(made: Callable[..., Any], entry: QueueEntry, status: str) -> None:
    record = made("loading gcc\n", entry)
    assert record["status"] == status
    assert record["error"]["message"].endswith(f"Slurm says {entry.state}; its log ends: loading gcc")


def test_ranks_that_had_ended_before_their_script_was_killed_still_tell_the_outcome(
    made: Callable[..., Any], sweep: Sweep, make_record: Callable[..., Record]
) -> None:
    scratch = sweep.paths.running("job-001.beef") / "3-43-0-2"
    scratch.mkdir(parents=True)
    facts = {"warnings": [], "status": "failed", "error": {"type": "E", "message": "it broke", "last_lines": []}}
    rank = {"rank": 0, "host": "n1", "exit_code": 1, "signal": None, "stopped_by": None, "facts": facts}
    rest = {"started_at": 1.0, "ended_at": 2.0, "node": {"hostname": "n1"}, "oom_kills": 0, "last_lines": []}
    (scratch / "rank-0.json").write_text(json.dumps({**rank, **rest}))
    record = made("", "NODE_FAIL")
    assert (record["status"], record["error"]["message"]) == ("failed", "it broke")
    assert not scratch.exists()


def test_what_one_that_ran_beside_others_has_printed_is_quoted(made: Callable[..., Any], sweep: Sweep) -> None:
    own = sweep.paths.running("job-001.beef") / "3-43.log"
    own.parent.mkdir(parents=True)
    own.write_text("its own last words\n")
    record = made("the words of others\n", "NODE_FAIL")
    assert record["error"]["message"].endswith("Slurm says NODE_FAIL; its log ends: its own last words")
    assert not own.exists()


def remains(sweep: Sweep, element: int, planned: PlannedRun, **changes: Any) -> EndedWithoutRecord:
    """What a job of three runs has left of one of them, after its node failed."""
    place = ArrayIndex(Batch(sweep.paths, "job-001.beef", "42"), element // 3, (0, 1, 2))
    return EndedWithoutRecord(place, element, planned, QueueEntry("NODE_FAIL", True), **changes)


def test_a_folder_that_its_job_removes_meanwhile_is_left_out(
    sweep: Sweep, make_planned: Callable[..., PlannedRun]
) -> None:
    running = sweep.paths.running("job-001.beef")
    (running / "3-1").mkdir(parents=True)
    ended = remains(sweep, 3, make_planned(), files=[running / "3-1", running / "3-2"])
    assert concluded_record(sweep, ended).scratch == running / "3-1"


def test_a_rank_that_another_hpcbench_removes_while_it_is_read_is_left_out(
    sweep: Sweep, make_planned: Callable[..., PlannedRun]
) -> None:
    """It has saved the outcome before, and its record counts."""
    scratch = sweep.paths.running("job-001.beef") / "3-1"
    scratch.mkdir(parents=True)
    (scratch / "rank-0.json").symlink_to("gone")
    concluded = concluded_record(sweep, remains(sweep, 3, make_planned(), files=[scratch], has_log=True))
    assert (concluded.record["status"], concluded.record["ranks"]) == ("node_failure", [])


def test_what_had_no_turn_in_a_job_that_somebody_cancelled_never_started(
    sweep: Sweep, make_planned: Callable[..., PlannedRun]
) -> None:
    cancelled = QueueEntry("CANCELLED by 5", True)
    ended = replace(remains(sweep, 1, make_planned(), has_log=True, had_no_turn=True), entry=cancelled)
    assert concluded_record(sweep, ended).record["error"]["message"] == "cancelled before it started"


def test_on_this_machine_it_comes_behind_the_records_of_earlier_runs(made: Callable[..., Any], sweep: Sweep) -> None:
    made("one")
    made("two")
    messages = [record["error"]["message"] for record in read_file(sweep.paths.local_records("job-001"))]
    assert [message[-3:] for message in messages] == ["one", "two"]


def test_a_secret_in_the_log_of_a_lost_job_does_not_reach_its_record(
    made: Callable[..., Any], sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_TOKEN", "hunter2-hunter2")
    made("+ export MY_API_TOKEN=hunter2-hunter2\n", "FAILED")
    text = (sweep.paths.records / RECONCILED).read_text()
    assert "hunter2" not in text
    assert "[redacted]" in text


@pytest.fixture
def concluded(sweep: Sweep, make_planned: Callable[..., PlannedRun]) -> list[ConcludedRecord]:
    """Of thirty runs that left no record, in packs of three."""
    return [concluded_record(sweep, remains(sweep, element, make_planned(element))) for element in range(30)]


def test_what_is_concluded_is_saved(sweep: Sweep, concluded: list[ConcludedRecord]) -> None:
    with alone(sweep) as reason:
        assert save(sweep, concluded, reason) == []
    found = read_file(sweep.paths.records / RECONCILED)
    assert [record["element"] for record in found] == list(range(30))


def test_a_second_hpcbench_waits_for_the_first_but_not_for_ever(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconciling, "TIMEOUT_S", 0.2)
    with alone(sweep), pytest.raises(NoAnswerError, match="another hpcbench is saving how"), alone(sweep):
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


OTHERS_RUN = queued("0|RUNNING|None|n1", "2|RUNNING|None|n1")
LOST = "7_1|NODE_FAIL|0:0|60|5|None|n1"


def test_the_outcome_of_a_run_without_a_record_is_saved_once_and_its_folder_removed(cluster: Cluster) -> None:
    scratch = cluster.begin(3)
    cluster.log(1)
    for _ in range(2):
        progress = cluster.reconcile(OTHERS_RUN, LOST)
        assert (progress.runs[3].state, progress.warnings) == ("node_failure", ())
        assert cluster.saved == [3]
    assert not scratch.exists()


def test_a_pack_whose_script_gave_up_is_saved_with_what_it_said(cluster: Cluster) -> None:
    cluster.log(0, "hpcbench: gave up: module load gcc failed\n")
    progress = cluster.reconcile(queued("1|RUNNING|None|n1", "2|RUNNING|None|n1"), "7_0|FAILED|1:0|60|5|None|n1")
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
    cluster.fake(
        squeue=f"cat <<'END'\n{OTHERS_RUN}\nEND",
        sacct=f"while read -r line; do echo \"$line\"; done < '{theirs}' > '{reconciled}'; exec /bin/rmdir '{scratch}'",
    )
    progress = reconcile(cluster.sweep)
    assert (progress.runs[3].state, progress.warnings, scratch.exists()) == ("completed", (), False)
    assert cluster.saved == [3]


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
    cluster.fake(
        squeue=f"cat <<'END'\n{OTHERS_RUN}\nEND",
        sacct=f"while read -r line; do echo \"$line\"; done < '{waiting}' > '{file}'\n"
        "echo '7_1|COMPLETED|0:0|60|5|None|n1'",
    )
    progress = ask(cluster.sweep)
    assert (progress.runs[3].state, progress.warnings) == ("completed", ())
    assert cluster.saved == []


def test_several_that_save_at_the_same_time_conclude_once(cluster: Cluster) -> None:
    """Four processes, and fake Slurm commands."""
    paths = cluster.sweep.paths
    cluster.fake(squeue="exit 0", sacct="echo '7|CANCELLED by 0|0:0|60|5|None|None assigned'")
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
