"""What a snapshot holds of the journal, Slurm in fake commands, records, folders and processes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hpcbench.errors import UserError
from hpcbench.status.snapshot import Snapshot, take_snapshot, with_later_records
from hpcbench.status.survey import survey
from hpcbench.store.journal import Journal
from hpcbench.store.sweep import Sweep
from tests.status.queued_sweep import BATCH, DESCRIPTION, ELEMENTS, Cluster, accounted, judged, queued

BARE = "sweep-1.job-1"
TWO_WAIT = queued("0|PENDING|Priority|", "2|PENDING|Priority|")


def states(snapshot: Snapshot) -> list[str]:
    return [run.state for run in survey(snapshot).runs]


def test_one_question_to_squeue_and_one_to_sacct_are_enough_whatever_there_is(cluster: Cluster) -> None:
    for number in range(20):
        cluster.submit(f"job-1.{number:x}x", str(100 + number), [(4,), (5,)])
    cluster.say(
        queued("0|PENDING|Priority|"), accounted("1|FAILED|1:0|n1") + "\n" + accounted("0|FAILED|1:0|n1", array="119")
    )
    take_snapshot(cluster.sweep)
    assert cluster.calls == 3, "squeue by ID and by user, and sacct"


def test_if_nothing_has_gone_the_accounting_is_not_asked(cluster: Cluster) -> None:
    cluster.record(3, index=1)
    cluster.say(TWO_WAIT)
    snapshot = take_snapshot(cluster.sweep)
    assert (cluster.calls, snapshot.gone()) == (2, [])


def test_of_what_has_gone_it_holds_what_slurm_says_the_folder_and_the_log(cluster: Cluster) -> None:
    scratch = cluster.begin(3)
    cluster.log(1)
    cluster.say(TWO_WAIT, accounted("1|NODE_FAIL|0:0|n1"))
    snapshot = take_snapshot(cluster.sweep)
    assert snapshot.gone() == [("job-1", 3)]
    job = snapshot.job(("job-1", 3))
    assert job is not None
    assert (job.kind, job.entry and job.entry.state) == ("ended", "NODE_FAIL")
    assert snapshot.known_arrays == {"7"}
    assert (snapshot.scratch, snapshot.logged) == ({BATCH: {3: [scratch]}}, {("7", 1)})
    assert len(snapshot.runs) == ELEMENTS


def test_an_accounting_that_gives_no_answer_is_a_warning_and_the_queue_still_counts(cluster: Cluster) -> None:
    squeue = queued("0|RUNNING|None|n1", "2|NODE_FAIL|NodeDown|n2")
    cluster.say(squeue)
    folder = cluster.fake(sacct="echo Connection refused >&2; exit 1")
    snapshot = take_snapshot(cluster.sweep)
    assert states(snapshot)[2:5] == ["pending", "unknown", "node_failure"]
    assert snapshot.warnings == (
        "sacct failed: Connection refused; the outcome of jobs without a record is still unknown",
    )
    assert (folder / "sacct.called").read_text().count("--jobs") == 1


def test_a_controller_that_gives_no_answer_is_an_error_and_nobody_has_to_ask_it(cluster: Cluster) -> None:
    cluster.record(0)
    cluster.say()
    cluster.fake(squeue="echo Unable to contact slurm controller >&2; exit 1")
    with pytest.raises(UserError, match="Unable to contact"):
        take_snapshot(cluster.sweep)
    assert states(take_snapshot(cluster.sweep, ask_slurm=False)) == ["completed", *5 * ["unknown"]]


@pytest.mark.parametrize(
    ("sacct", "state"),
    [
        (accounted("1|RUNNING|0:0|n5"), "unknown"),
        (accounted("1|RUNNING|0:0|n5").replace("|60|5|", "|901|5|"), "node_failure"),
        (accounted("0|CANCELLED by 0|0:0|").replace("7_0", "7"), "cancelled"),
    ],
)
def test_what_the_accounting_prints_is_understood(cluster: Cluster, sacct: str, state: str) -> None:
    assert cluster.query("", sacct).runs[3].state == state


def test_a_rejected_batch_is_as_if_it_had_never_been(cluster: Cluster) -> None:
    journal = Journal.read(cluster.sweep.paths)
    journal.rejected(journal.batches[0], "no such partition")
    cluster.say()
    assert set(states(take_snapshot(cluster.sweep))) == {"planned"}


def test_what_a_bare_sbatch_has_submitted_counts_while_it_is_there(cluster: Cluster) -> None:
    cluster.record(3, "failed", index=1)
    cluster.say(f"{TWO_WAIT}\n{queued('1|RUNNING|None|n1', name=BARE, array='9')}")
    runs = survey(take_snapshot(cluster.sweep)).runs
    assert (runs[3].state, runs[3].slurm_id, runs[3].index) == ("running", "9", 1)
    assert [run.slurm_id for run in runs[:3]] == ["7", "7", "7"], "the bare array has only index 1"
    cluster.say(f"{TWO_WAIT}\n{queued('1|FAILED|NonZeroExitCode|n1', name=BARE, array='9')}")
    runs = survey(take_snapshot(cluster.sweep)).runs
    assert (runs[3].state, runs[3].slurm_id) == ("failed", "7")


def test_what_was_disturbed_and_is_submitted_once_more_is_not_at_its_end(cluster: Cluster) -> None:
    cluster.record(3, index=1, **judged("interference"))
    cluster.record(4, index=2, **judged("clean"))
    bare = queued("1|PENDING|Priority|", "2|RUNNING|None|n1", name=BARE, array="9")
    cluster.say(bare, accounted("0|FAILED|1:0|n1"))
    runs = survey(take_snapshot(cluster.sweep)).runs
    assert [(run.state, run.slurm_id) for run in runs[3:5]] == [("pending", "9"), ("completed", "7")]


def test_what_others_have_put_into_the_folder_of_what_runs_does_no_harm(cluster: Cluster) -> None:
    running = cluster.begin(1).parent
    for name in ("notes", ".2-8.log", "12.txt", "7-", "-", "4"):
        (running / name).touch()
    cluster.say(queued("0|RUNNING|None|n1", "1|RUNNING|None|n1", "2|RUNNING|None|n1"))
    assert states(take_snapshot(cluster.sweep))[:3] == ["pending", "running", "pending"]


def test_packs_that_cannot_be_read_are_named(cluster: Cluster) -> None:
    cluster.sweep.paths.packs(BATCH).write_text("0 1 x\n")
    cluster.say(queued("0|RUNNING|None|n1"))
    with pytest.raises(UserError, match="cannot be read") as caught:
        take_snapshot(cluster.sweep)
    assert caught.value.where == str(cluster.sweep.paths.packs(BATCH))


def test_a_damaged_line_is_a_warning_that_names_its_place(cluster: Cluster) -> None:
    cluster.record(3, index=1)
    file = cluster.sweep.paths.records / BATCH / "7_1.jsonl"
    with file.open("a") as stream:
        stream.write('{"cut')
    snapshot = take_snapshot(cluster.sweep, ask_slurm=False)
    assert snapshot.warnings == (f"a damaged line is ignored: {file}:2",)
    assert states(snapshot)[3] == "completed"


def test_records_that_are_written_later_can_be_added(cluster: Cluster) -> None:
    cluster.record(0)
    first = take_snapshot(cluster.sweep, ask_slurm=False)
    cluster.record(0, "failed")
    cluster.record(3, index=1)
    later = with_later_records(first)
    assert {key: [each.status for each in records] for key, records in later.records.items()} == {
        ("job-1", 0): ["completed", "failed"],
        ("job-1", 3): ["completed"],
    }
    assert with_later_records(later).records == later.records
    assert [len(records) for records in first.records.values()] == [1]


def test_a_record_that_comes_while_the_accounting_gives_no_answer_counts(cluster: Cluster) -> None:
    cluster.record(3, index=1)
    file = cluster.sweep.paths.records / BATCH / "7_1.jsonl"
    waiting = file.rename(file.with_name("waiting"))
    cluster.say(TWO_WAIT)
    cluster.fake(
        sacct=f"while read -r line; do echo \"$line\"; done < '{waiting}' > '{file}'; exit 1",
    )
    assert states(take_snapshot(cluster.sweep))[3] == "completed"


@pytest.fixture
def local(cluster: Cluster) -> Sweep:
    """The same sweep on a machine without Slurm."""
    cluster.sweep.paths.journal.unlink()
    return Sweep(cluster.sweep.paths, {**DESCRIPTION, "site": {"name": "here", "scheduler": "local"}})


def test_what_a_process_of_this_machine_runs_is_running(local: Sweep) -> None:
    command = ["/bin/bash", "-c", "read -r", "job", str(local.paths.runs("job-1")), "1"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        while not Path(f"/proc/{process.pid}/cmdline").read_bytes():
            pass  # it becomes bash in this very moment
        for element, pid in ((1, process.pid), (2, os.getpid()), (3, 2**22 + 1)):
            (local.paths.running("job-1") / f"{element}-{pid}-0-1").mkdir(parents=True)
        for name in ("4", "5-", "notes"):
            (local.paths.running("job-1") / name).touch()
        assert states(take_snapshot(local)) == ["planned", "running", *4 * ["planned"]]
        process.communicate()
    assert states(take_snapshot(local)) == 6 * ["planned"]
