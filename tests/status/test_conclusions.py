"""The record that is concluded for a run whose script could not write one, from what its job has left."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.run_spec import PlannedRun
from hpcbench.slurm.job_entry import JobEntry
from hpcbench.status.reconcile import alone, concluded_record, reconcile_local, save
from hpcbench.status.snapshot import ArrayIndex
from hpcbench.status.survey import EndedWithoutRecord
from hpcbench.store.journal import Batch
from hpcbench.store.records import RECONCILED, Record, read_file
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace

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

    def make(text: str | None, entry: str | JobEntry | None = None) -> Record:
        slurm_id = "42" if entry else None
        log = sweep.paths.log("job-001.beef", 0, slurm_id) if entry else sweep.paths.log("job-001", 3, None)
        if text is not None:
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_text(text)
        if entry is None:
            return reconcile_local(sweep, "job-001", 3, make_planned(), was_too_late=False)
        place = ArrayIndex(Batch(sweep.paths, "job-001.beef", slurm_id), 0, (3,))
        given = JobEntry(entry) if isinstance(entry, str) else entry
        scratch = list(sweep.paths.running("job-001.beef").glob("3-*"))
        ended = EndedWithoutRecord(place, 3, make_planned(), given, text is not None, scratch)
        concluded = concluded_record(sweep, ended)
        with alone(sweep) as reason:
            assert save(sweep, [concluded], reason) == []
        assert read_file(sweep.paths.records / RECONCILED) == [concluded.record]
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
    assert record.status == "failed"
    assert record.error.type == "setup"
    assert record.error.message == (
        "module load foo/1.2 failed: Loading gcc 12 Lmod has detected the following error: The following module(s) are "
        'unknown: "foo/1.2" Please check the spelling or version number.'
    )
    assert record.error.last_lines == LMOD.splitlines()


def test_of_much_that_was_said_the_end_is_quoted(made: Callable[..., Any]) -> None:
    message = made("x" * 5000 + " the end\nhpcbench: gave up: it failed\n").error.message
    assert message.startswith("it failed: xxx")
    assert message.endswith("xxx the end")
    assert len(message) < 600


def test_a_script_that_gave_up_without_a_word_before_is_quoted_alone(made: Callable[..., Any]) -> None:
    record = made("hpcbench: gave up: module command not found on n1\n")
    assert record.error.message == "module command not found on n1"


def test_another_end_is_told_with_what_slurm_says_and_the_last_line(made: Callable[..., Any]) -> None:
    message = made("one\ntwo\n\n", "FAILED").error.message
    assert message == "its job ended without leaving a record; Slurm reports FAILED; its log ends: two"
    assert made("").error.message == "its job ended without leaving a record"


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
NODE = {"nodes": "n7"}


@pytest.mark.parametrize(
    ("entry", "status", "words"),
    [
        (JobEntry("CANCELLED by 0", **NODE), "cancelled", "cancelled before it started"),
        (JobEntry(CANCELLED, "Priority"), "cancelled", "cancelled before it started"),
        (JobEntry(CANCELLED, "JobHeldUser"), "cancelled", "cancelled before it started"),
        (JobEntry("CANCELLED by 7", "Dependency"), "cancelled", "cancelled before it started"),
        (JobEntry(CANCELLED, "DependencyNeverSatisfied"), "never_started", "Slurm never started it: it depends"),
        (
            JobEntry(CANCELLED, "Dependency", exit_code="0:0"),
            "never_started",
            "Slurm never started it: it depends",
        ),
        (JobEntry(FAILED, "BadConstraints"), "never_started", "no node has the requested features"),
        (
            JobEntry(FAILED, reason="JobLaunchFailure", **NODE),
            "node_failure",
            "n7 could not write {log}: check that it can access",
        ),
        (
            JobEntry(FAILED, exit_code="0:53", **NODE),
            "node_failure",
            "n7 could not write {log}: check that it can access this",
        ),
        (
            JobEntry(FAILED, exit_code="1:0", **NODE),
            "node_failure",
            "its script did not start on n7; Slurm reports FAILED",
        ),
        (JobEntry("NODE_FAIL", **NODE), "node_failure", "Slurm reports NODE_FAIL"),
        (JobEntry("PREEMPTED", **NODE), "preempted", "Slurm reports PREEMPTED"),
        (JobEntry("OUT_OF_MEMORY", **NODE), "out_of_memory", "Slurm reports OUT_OF_MEMORY"),
        (JobEntry("TIMEOUT", **NODE), "timeout", "Slurm reports TIMEOUT"),
    ],
    ids=lambda value: f"{value.state} {value.reason or value.exit_code}" if isinstance(value, JobEntry) else None,
)
def test_a_job_that_has_printed_nothing_ended_as_slurm_says(
    made: Callable[..., Any], sweep: Sweep, entry: JobEntry, status: str, words: str
) -> None:
    record = made(None, entry)
    assert record.status == status
    assert words.format(log=sweep.paths.log("job-001.beef", 0, "42")) in record.error.message
    assert (record.element, record.batch, record.attempt) == (3, "job-001.beef", None)
    assert record.slurm == {"array_job_id": "42", "array_task_id": "0"}
    assert record.measurements is None


@pytest.mark.parametrize(
    ("entry", "status"),
    [
        (JobEntry("CANCELLED by 0", "Priority"), "cancelled"),
        (JobEntry(CANCELLED, "Dependency"), "cancelled"),
        (JobEntry(FAILED, "BadConstraints"), "failed"),
        (JobEntry(FAILED, exit_code="1:0"), "failed"),
    ],
)
def test_a_job_that_has_printed_something_has_started(made: Callable[..., Any], entry: JobEntry, status: str) -> None:
    record = made("loading gcc\n", entry)
    assert record.status == status
    assert record.error.message.endswith(f"Slurm reports {entry.state}; its log ends: loading gcc")


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
    assert (record.status, record.error.message) == ("failed", "it broke")
    assert not scratch.exists()


def test_what_one_that_ran_beside_others_has_printed_is_quoted(made: Callable[..., Any], sweep: Sweep) -> None:
    own = sweep.paths.running("job-001.beef") / "3-43.log"
    own.parent.mkdir(parents=True)
    own.write_text("its own last words\n")
    record = made("the words of others\n", "NODE_FAIL")
    assert record.error.message.endswith("Slurm reports NODE_FAIL; its log ends: its own last words")
    assert not own.exists()


def remains(sweep: Sweep, element: int, planned: PlannedRun, **changes: Any) -> EndedWithoutRecord:
    """What a job of three runs has left of one of them, after its node failed."""
    place = ArrayIndex(Batch(sweep.paths, "job-001.beef", "42"), element // 3, (0, 1, 2))
    return EndedWithoutRecord(place, element, planned, JobEntry("NODE_FAIL"), **changes)


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
    assert (concluded.record.status, concluded.record.ranks) == ("node_failure", [])


def test_a_rank_whose_file_its_node_could_not_finish_has_left_none(
    sweep: Sweep, make_planned: Callable[..., PlannedRun]
) -> None:
    scratch = sweep.paths.running("job-001.beef") / "3-1"
    scratch.mkdir(parents=True)
    (scratch / "rank-0.json").touch()
    concluded = concluded_record(sweep, remains(sweep, 3, make_planned(), files=[scratch], has_log=True))
    assert (concluded.record.status, concluded.record.ranks) == ("node_failure", [])


def test_what_had_no_turn_in_a_job_that_somebody_cancelled_never_started(
    sweep: Sweep, make_planned: Callable[..., PlannedRun]
) -> None:
    cancelled = JobEntry("CANCELLED by 5")
    ended = replace(remains(sweep, 1, make_planned(), has_log=True, had_no_turn=True), entry=cancelled)
    assert concluded_record(sweep, ended).record.error.message == "cancelled before it started"


def test_on_this_machine_it_comes_behind_the_records_of_earlier_runs(made: Callable[..., Any], sweep: Sweep) -> None:
    made("one")
    made("two")
    messages = [record.error.message for record in read_file(sweep.paths.local_records("job-001"))]
    assert [message[-3:] for message in messages] == ["one", "two"]


def test_a_secret_in_the_log_of_a_lost_job_does_not_reach_its_record(
    made: Callable[..., Any], sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_TOKEN", "hunter2-hunter2")
    made("+ export MY_API_TOKEN=hunter2-hunter2\n", "FAILED")
    text = (sweep.paths.records / RECONCILED).read_text()
    assert "hunter2" not in text
    assert "[redacted]" in text
