"""Where each repetition stands by what Slurm says of its job, in fake commands here, and by what the job has left."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from hpcbench.errors import UserError
from hpcbench.status.survey import OTHERS_FIRST, survey, survey_or_records
from hpcbench.store.journal import Journal
from hpcbench.store.records import RECONCILED
from tests.status.queued_sweep import ALL, BATCH, DESCRIPTION, ELEMENTS, Cluster, elements, judged, queued


def test_every_repetition_of_a_pending_job_is_pending_with_the_reason(cluster: Cluster) -> None:
    progress = cluster.survey(queued("0|PENDING|Priority|", "1|PENDING|Priority|", "2|PENDING|Resources|"))
    assert {run.state for run in progress.runs} == {"pending"}
    assert progress.runs[0].reason == "jobs of higher priority come first (Priority)"
    assert [(run.slurm_id, run.index) for run in progress.runs] == [("7", index) for index in (0, 0, 0, 1, 2, 2)]
    assert all(run.in_queue for run in progress.runs)
    assert (progress.to_do(), cluster.calls) == ([], 1)


def test_of_a_running_pack_only_that_runs_which_has_begun(cluster: Cluster) -> None:
    cluster.record(0)
    cluster.begin(1)
    progress = cluster.survey(queued("0|RUNNING|None|n1", "1|RUNNING|None|n2", "2|PENDING|Priority|"))
    assert [run.state for run in progress.runs] == ["completed", "running", "pending", "running", "pending", "pending"]
    assert progress.runs[2].reason == OTHERS_FIRST
    assert (progress.runs[1].nodes, progress.runs[1].reason) == ("n1", "")


def test_what_had_no_turn_is_cancelled_where_somebody_has_cancelled_its_job(cluster: Cluster) -> None:
    cluster.record(0)
    cluster.begin(1)
    progress = cluster.survey(queued("1|RUNNING|None|n1", "2|RUNNING|None|n1"), "7_0|CANCELLED by 5|0:15|60|5|None|n1")
    assert [run.state for run in progress.runs[:3]] == ["completed", "cancelled", "cancelled"]
    assert progress.runs[2].reason == "cancelled before it started"
    assert (elements(progress.to_do()), elements(progress.missing())) == ([1, 2], [])


def test_one_question_to_squeue_and_one_to_sacct_are_enough_whatever_there_is(cluster: Cluster) -> None:
    for number in range(20):
        cluster.submit(f"job-1.{number:x}x", str(100 + number), [(4,), (5,)])
    cluster.states(queued("0|PENDING|Priority|"), "7_1|FAILED|1:0|60|5|None|n1\n119_0|FAILED|1:0|60|5|None|n1")
    assert cluster.calls == 2


def test_an_unfinished_pack_is_still_to_do_when_its_job_has_ended(cluster: Cluster) -> None:
    cluster.record(0)
    cluster.begin(1)
    progress = cluster.survey(queued("1|RUNNING|None|n1", "2|RUNNING|None|n1"), "7_0|TIMEOUT|0:0|60|5|None|n1")
    assert [run.state for run in progress.runs[:3]] == ["completed", "timeout", "planned"]
    assert progress.runs[2].reason == "its job ended (TIMEOUT) before its turn"
    assert elements(progress.to_do()) == [1, 2]
    assert elements(progress.missing()) == [2], "the other has an outcome, which the experiment does not retry"
    assert cluster.made_up == [1]


def test_what_was_cut_off_as_the_time_of_its_job_was_over_is_missing(cluster: Cluster) -> None:
    error = {"type": "job_time", "message": "the time of its job was over", "last_lines": []}
    cluster.record(0)
    cluster.record(1, "cancelled", error=error)
    cluster.record(3, "cancelled", index=1)
    progress = cluster.survey(
        queued("2|PENDING|Priority|"), "7_0|TIMEOUT|0:0|60|5|None|n1\n7_1|CANCELLED by 0|0:0|60|5|None|n1"
    )
    assert [run.state for run in progress.runs[:4]] == ["completed", "cancelled", "planned", "cancelled"]
    assert elements(progress.missing()) == [1, 2]
    assert elements(progress.to_do()) == [1, 2, 3]


def test_where_none_of_a_pack_got_as_far_as_to_begin_all_of_it_ended_as_the_job_did(cluster: Cluster) -> None:
    cluster.log(0, "hpcbench: gave up: module load gcc failed\n")
    progress = cluster.survey(queued("1|RUNNING|None|n1", "2|RUNNING|None|n1"), "7_0|FAILED|1:0|60|5|None|n1")
    assert [(run.state, run.reason) for run in progress.runs[:3]] == 3 * [("failed", "module load gcc failed")]
    assert cluster.made_up == [0, 1, 2]


@pytest.mark.parametrize("reason", ["JobHeldUser", "JobHeldAdmin", "DependencyNeverSatisfied", "PartitionTimeLimit"])
def test_what_waits_for_somebody_never_starts_and_is_not_run_twice(cluster: Cluster, reason: str) -> None:
    progress = cluster.survey(queued(*(f"{index}|PENDING|{reason}|" for index in ALL)))
    assert {run.state for run in progress.runs} == {"never_started"}
    assert (progress.to_do(), progress.missing()) == ([], [])
    assert all(run.in_queue and not run.ended for run in progress.runs)
    assert cluster.made_up == []
    released = cluster.states(queued(*(f"{index}|PENDING|Priority|" for index in ALL)))
    assert set(released) == {"pending"}


def test_what_slurm_itself_gave_up_never_started_and_is_to_do(cluster: Cluster) -> None:
    progress = cluster.survey(queued(*(f"{index}|CANCELLED|DependencyNeverSatisfied|" for index in ALL)))
    assert {run.state for run in progress.runs} == {"never_started"}
    assert elements(progress.to_do()) == list(range(ELEMENTS))
    assert progress.missing() == [], "it would end so again"


def test_of_what_was_cancelled_while_it_was_pending_slurm_keeps_nothing(cluster: Cluster) -> None:
    """But of the rest of the array it does."""
    progress = cluster.survey(queued("0|PENDING|Priority|", "2|PENDING|Priority|"))
    assert (progress.runs[3].state, progress.runs[3].reason) == ("cancelled", "cancelled before it started")
    assert cluster.made_up == [3]


def test_what_ended_so_long_ago_that_slurm_has_forgotten_it_is_not_called_cancelled(cluster: Cluster) -> None:
    """On a cluster without accounting, while the rest of the array still waits."""
    cluster.log(1)
    progress = cluster.survey(queued("0|PENDING|Priority|", "2|PENDING|Priority|"))
    message = "its job ended without leaving a record; Slurm no longer knows it; its log ends: loading gcc"
    assert (progress.runs[3].state, progress.runs[3].reason) == ("failed", message)


def test_an_array_that_was_cancelled_as_a_whole_before_it_started_is_cancelled(cluster: Cluster) -> None:
    progress = cluster.survey("", "7|CANCELLED by 0|0:0|60|5|None|None assigned")
    assert [(run.state, run.reason) for run in progress.runs] == 6 * [("cancelled", "cancelled before it started")]


def test_what_the_accounting_calls_running_is_unknown_until_it_cannot_run_any_more(cluster: Cluster) -> None:
    run = cluster.survey("", "7_1|RUNNING|0:0|60|5|None|n5").runs[3]
    assert (run.state, run.reason) == ("unknown", "it has left the queue, and the accounting still says RUNNING")
    assert cluster.states("", "7_1|RUNNING|0:0|901|5|None|n5")[3] == "node_failure"


def test_what_the_accounting_calls_pending_is_out_of_the_queue_and_not_run_again_unasked(cluster: Cluster) -> None:
    progress = cluster.survey("", "7_1|PENDING|0:0|0|5|None|None assigned")
    assert (progress.runs[3].state, progress.runs[3].reason) == ("cancelled", "cancelled before it started")
    assert 3 in elements(progress.to_do())
    assert 3 not in elements(progress.missing())


@pytest.mark.parametrize(
    ("squeue", "sacct"),
    [
        (queued("1|FAILED|JobLaunchFailure|n5"), ""),
        ("", "7_1|FAILED|0:53|60|5|None|n5"),
    ],
)
def test_a_node_that_does_not_see_the_folder_is_named(cluster: Cluster, squeue: str, sacct: str) -> None:
    run = cluster.survey(squeue, sacct).runs[3]
    log = cluster.sweep.paths.log(BATCH, 1, "7")
    assert (run.state, run.reason) == ("node_failure", f"n5 could not write {log}: does it see this folder?")


def test_a_script_that_never_began_is_the_fault_of_its_node(cluster: Cluster) -> None:
    run = cluster.survey("", "7_1|FAILED|1:0|60|5|None|n5").runs[3]
    assert (run.state, run.reason) == ("node_failure", "its script never began on n5; Slurm says FAILED")


def test_what_slurm_no_longer_knows_at_all_has_failed_without_a_reason(cluster: Cluster) -> None:
    progress = cluster.survey("", "")
    assert {run.state for run in progress.runs} == {"failed"}
    assert progress.runs[0].reason == "its job ended without leaving a record; Slurm no longer knows it"


def test_what_the_accounting_does_not_tell_is_unknown_and_not_run_again(cluster: Cluster) -> None:
    squeue = queued("0|RUNNING|None|n1", "2|NODE_FAIL|NodeDown|n2")
    folder = cluster.fake(squeue=f"cat <<'END'\n{squeue}\nEND", sacct="echo Connection refused >&2; exit 1")
    progress = survey(cluster.sweep)
    assert [run.state for run in progress.runs] == [*3 * ["pending"], "unknown", "node_failure", "node_failure"]
    assert progress.warnings == (
        "sacct failed: Connection refused; how jobs ended that left no record is not known yet",
    )
    assert elements(progress.to_do()) == [4, 5]
    assert cluster.made_up == [4, 5]
    assert (folder / "sacct.called").read_text().count("--jobs") == 1


def test_what_the_controller_does_not_tell_is_told_by_the_records_alone(cluster: Cluster) -> None:
    cluster.record(0)
    cluster.fake(squeue="echo Unable to contact slurm controller >&2; exit 1", sacct="exit 0")
    with pytest.raises(UserError, match="Unable to contact"):
        survey(cluster.sweep)
    progress = survey_or_records(cluster.sweep)
    assert [run.state for run in progress.runs] == ["completed", *5 * ["unknown"]]
    assert progress.warnings == ("squeue failed: Unable to contact slurm controller; only the records are counted",)
    assert progress.to_do() == []


def test_only_the_user_who_submitted_it_says_how_a_job_ended(cluster: Cluster) -> None:
    cluster.submit("job-1.bb", "9", [(3,)], uid=os.getuid() + 1)
    progress = cluster.survey(queued("0|RUNNING|None|n1", "2|RUNNING|None|n1"), "9_0|FAILED|1:0|60|5|None|n1")
    run = progress.runs[3]
    assert (run.state, run.reason) == ("unknown", "only the user who submitted it may say how it ended")
    assert elements(progress.to_do()) == []


def test_an_intent_that_slurm_may_not_have_is_not_submitted(cluster: Cluster) -> None:
    cluster.submit("job-1.bb", None, [(3,)])
    progress = cluster.survey(queued("0|PENDING|Priority|", "1|PENDING|Priority|", "2|PENDING|Priority|"))
    assert progress.runs[3].state == "planned"


def test_a_rejected_batch_is_as_if_it_had_never_been(cluster: Cluster) -> None:
    journal = Journal.read(cluster.sweep.paths)
    journal.rejected(journal.batches[0], "no such partition")
    assert set(cluster.states()) == {"planned"}


def test_the_latest_batch_of_a_repetition_counts(cluster: Cluster) -> None:
    cluster.record(0, "failed")
    cluster.record(3, index=1)
    cluster.submit("job-1.bb", "9", [(0, 2)])
    again = queued("0|PENDING|Priority|", name="sweep-1.job-1.bb", array="9")
    progress = cluster.survey(f"{queued('2|RUNNING|None|n1')}\n{again}", "7_0|FAILED|1:0|60|5|None|n1")
    runs = progress.runs
    assert [(run.state, run.slurm_id, run.index) for run in runs[:4:2]] == [("pending", "9", 0), ("pending", "9", 0)]
    assert runs[3].state == "completed"


def test_how_the_latest_job_ended_counts_though_an_earlier_one_has_written_a_record(cluster: Cluster) -> None:
    cluster.record(3, "failed", index=1)
    cluster.submit("job-1.bb", "9", [(3,)])
    run = cluster.survey("", "9_0|NODE_FAIL|0:0|60|5|None|n1").runs[3]
    assert (run.state, run.slurm_id, len(run.attempts)) == ("node_failure", "9", 2)
    assert cluster.survey("", "").runs[3].state == "node_failure", "also when it is read again"


BARE = "sweep-1.job-1"


def test_what_a_bare_sbatch_has_submitted_counts_while_it_is_there(cluster: Cluster) -> None:
    cluster.record(3, "failed", index=1)
    bare = queued("1|RUNNING|None|n1", name=BARE, array="9")
    runs = cluster.survey(f"{queued('0|PENDING|Priority|', '2|PENDING|Priority|')}\n{bare}").runs
    assert (runs[3].state, runs[3].slurm_id, runs[3].index) == ("running", "9", 1)
    assert [run.slurm_id for run in runs[:3]] == ["7", "7", "7"], "the bare array has only index 1"
    gone = queued("1|FAILED|NonZeroExitCode|n1", name=BARE, array="9")
    runs = cluster.survey(f"{queued('0|PENDING|Priority|', '2|PENDING|Priority|')}\n{gone}").runs
    assert (runs[3].state, runs[3].slurm_id) == ("failed", "7")


def test_what_was_disturbed_is_not_at_its_end_while_its_job_may_measure_it_again(cluster: Cluster) -> None:
    cluster.record(3, index=1, **judged("disturbed"))
    assert cluster.states(queued("1|RUNNING|None|n1"), "")[3] == "running"
    assert cluster.states(queued("1|COMPLETED|None|n1"), "")[3] == "completed"
    assert cluster.states("", "")[3] == "completed"


@pytest.mark.parametrize("again", ["clean", "unmonitored", "disturbed"])
def test_what_was_measured_as_often_as_asked_or_undisturbed_is_at_its_end(cluster: Cluster, again: str) -> None:
    """Though its job goes on with others."""
    for attempt, verdict in enumerate(["disturbed", again], 1):
        cluster.record(4, index=2, attempt=attempt, **judged(verdict))
    assert cluster.states(queued("2|RUNNING|None|n1"), "")[4] == "completed"


def test_what_was_disturbed_and_is_submitted_once_more_is_not_at_its_end(cluster: Cluster) -> None:
    cluster.record(3, index=1, **judged("disturbed"))
    cluster.record(4, index=2, **judged("clean"))
    bare = queued("1|PENDING|Priority|", "2|RUNNING|None|n1", name=BARE, array="9")
    runs = cluster.survey(bare, "7_0|FAILED|1:0|60|5|None|n1").runs
    assert [(run.state, run.slurm_id) for run in runs[3:5]] == [("pending", "9"), ("completed", "7")]


@pytest.mark.parametrize(("failures", "state"), [(1, "running"), (2, "running"), (3, "node_failure")])
def test_what_is_retried_is_not_at_its_end_while_its_job_is_there(cluster: Cluster, failures: int, state: str) -> None:
    for attempt in range(1, failures + 1):
        cluster.record(3, "node_failure", index=1, attempt=attempt)
    assert cluster.states(queued("1|RUNNING|None|n1"), "")[3] == state


def test_a_failure_that_is_not_retried_is_at_its_end_though_its_job_is_there(cluster: Cluster) -> None:
    cluster.record(3, "failed", index=1)
    assert cluster.states(queued("1|COMPLETING|None|n1"), "")[3] == "failed"


def test_what_was_retried_too_often_is_to_do_for_a_person_and_not_missing(cluster: Cluster) -> None:
    for attempt in (1, 2, 3):
        cluster.record(3, "node_failure", index=1, attempt=attempt)
    for attempt in (1, 2):
        cluster.record(4, "preempted", index=2, attempt=attempt)
    cluster.record(5, "failed", index=2)
    progress = cluster.survey(queued("0|RUNNING|None|n1"), "")
    assert elements(progress.to_do()) == [3, 4, 5]
    assert elements(progress.missing()) == [4]


@pytest.mark.parametrize(
    ("status", "to_do"), [("completed", False), ("unsupported", False), ("failed", True), ("skipped", True)]
)
def test_what_has_an_outcome_is_not_missing(cluster: Cluster, status: str, to_do: bool) -> None:
    cluster.record(3, status, index=1)
    progress = cluster.survey(queued("0|RUNNING|None|n1", "2|RUNNING|None|n1"), "")
    assert elements(progress.to_do()) == ([3] if to_do else [])
    assert progress.missing() == []


def test_what_another_hpcbench_concludes_while_the_accounting_is_asked_counts(cluster: Cluster) -> None:
    """It has seen that the ranks had ended well, and used up what they left."""
    scratch = cluster.begin(3)
    cluster.record(3, index=1)
    theirs = cluster.sweep.paths.records / BATCH / "7_1.jsonl"
    theirs = theirs.rename(cluster.sweep.paths.records / "waiting")
    reconciled = cluster.sweep.paths.records / RECONCILED
    squeue = queued("0|RUNNING|None|n1", "2|RUNNING|None|n1")
    cluster.fake(
        squeue=f"cat <<'END'\n{squeue}\nEND",
        sacct=f"while read -r line; do echo \"$line\"; done < '{theirs}' > '{reconciled}'; exec rmdir '{scratch}'",
    )
    assert survey(cluster.sweep).runs[3].state == "completed"
    assert cluster.made_up == [3]


def test_several_that_look_at_a_sweep_at_the_same_time_conclude_once(cluster: Cluster) -> None:
    """Four processes, and fake Slurm commands."""
    cluster.survey(queued("0|PENDING|Priority|", "1|PENDING|Priority|", "2|PENDING|Priority|"))
    paths = cluster.sweep.paths
    cluster.fake(squeue="exit 0", sacct="echo '7|CANCELLED by 0|0:0|60|5|None|None assigned'")
    program = f"""
import pathlib
from hpcbench.status.survey import survey
from hpcbench.submit.create_sweep import Sweep
from hpcbench.store.workspace import SweepPaths
paths = SweepPaths("sweep-1", *map(pathlib.Path, {[str(paths.jobs), str(paths.results)]!r}))
input()
told = survey(Sweep(paths, {DESCRIPTION!r}))
print(told.warnings, *told.counts().items())
"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    started = [subprocess.Popen([sys.executable, "-c", program], **pipes) for _ in range(4)]  # type: ignore[call-overload]
    for process in started:
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.communicate()[0] for process in started] == 4 * ["() ('cancelled', 6)\n"]
    assert cluster.made_up == list(range(6))


@pytest.mark.parametrize("folder", [BATCH, f"{BATCH}.1"])
def test_a_record_that_comes_while_the_accounting_is_asked_counts(cluster: Cluster, folder: str) -> None:
    """And none is made up beside it, also where the job was started anew."""
    cluster.record(3, index=1)
    waiting = cluster.sweep.paths.records / BATCH / "waiting"
    (waiting.parent / "7_1.jsonl").rename(waiting)
    file = waiting.parent.with_name(folder) / "7_1.jsonl"
    file.parent.mkdir(exist_ok=True)
    squeue = queued("0|RUNNING|None|n1", "2|RUNNING|None|n1")
    cluster.fake(
        squeue=f"cat <<'END'\n{squeue}\nEND",
        sacct=f"while read -r line; do echo \"$line\"; done < '{waiting}' > '{file}'\n"
        "echo '7_1|COMPLETED|0:0|60|5|None|n1'",
    )
    assert survey(cluster.sweep).runs[3].state == "completed"
    assert cluster.made_up == []


def test_what_others_have_put_into_the_folder_of_what_runs_does_no_harm(cluster: Cluster) -> None:
    running = cluster.begin(1).parent
    for name in ("notes", ".2-8.log", "12.txt", "7-", "-"):
        (running / name).touch()
    states = cluster.states(queued("0|RUNNING|None|n1", "1|RUNNING|None|n1", "2|RUNNING|None|n1"))
    assert states[:3] == ["pending", "running", "pending"]


def test_results_that_cannot_be_written_are_a_warning_and_the_state_is_told_all_the_same(cluster: Cluster) -> None:
    cluster.sweep.paths.records.parent.mkdir(parents=True)
    cluster.sweep.paths.records.write_text("a file where the folder should be")
    progress = cluster.survey(queued("0|RUNNING|None|n1", "2|RUNNING|None|n1"), "7_1|NODE_FAIL|0:0|60|5|None|n1")
    assert progress.runs[3].state == "node_failure"
    assert len(progress.warnings) == 1
    assert "1 outcomes are not written down" in progress.warnings[0]


def test_packs_that_cannot_be_read_are_named(cluster: Cluster) -> None:
    cluster.sweep.paths.packs(BATCH).write_text("0 1 x\n")
    with pytest.raises(UserError, match="cannot be read") as caught:
        cluster.survey(queued("0|RUNNING|None|n1"))
    assert caught.value.where == str(cluster.sweep.paths.packs(BATCH))
