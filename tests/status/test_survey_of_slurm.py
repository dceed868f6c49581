"""The state of each run by what Slurm reports of its job and by what the job has left, from snapshots in memory."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hpcbench.status.survey import NO_RECORD, OTHERS_FIRST, ended_without_record, survey
from tests.status.queued_sweep import (
    ALL,
    BATCH,
    ELEMENTS,
    QueuedSweep,
    concluded,
    elements,
    ended,
    entries,
    judged,
)

OTHERS_RUN = entries("1|RUNNING", "2|RUNNING")


def test_every_run_of_a_pending_job_is_pending_with_the_reason(queued_sweep: QueuedSweep) -> None:
    progress = queued_sweep.survey(entries("0|PENDING|Priority", "1|PENDING|Priority", "2|PENDING|Resources"))
    assert {run.state for run in progress.runs} == {"pending"}
    assert progress.runs[0].reason == "jobs of higher priority come first (Priority)"
    assert [(run.slurm_id, run.index) for run in progress.runs] == [("7", index) for index in (0, 0, 0, 1, 2, 2)]
    assert all(run.in_queue for run in progress.runs)
    assert progress.to_do() == []


def test_of_a_running_pack_only_that_runs_which_has_begun(queued_sweep: QueuedSweep) -> None:
    queued_sweep.record(0)
    queued_sweep.begin(1)
    progress = queued_sweep.survey(entries("0|RUNNING|None|n1", "1|RUNNING|None|n2", "2|PENDING|Priority"))
    assert [run.state for run in progress.runs] == ["completed", "running", "pending", "running", "pending", "pending"]
    assert progress.runs[2].reason == OTHERS_FIRST
    assert (progress.runs[1].nodes, progress.runs[1].reason) == ("n1", "")


def test_what_had_no_turn_is_cancelled_if_somebody_has_cancelled_its_job(queued_sweep: QueuedSweep) -> None:
    queued_sweep.record(0)
    queued_sweep.begin(1)
    progress = queued_sweep.survey(OTHERS_RUN, ended("CANCELLED by 5", 0, exit_code="0:15"))
    assert [run.state for run in progress.runs[:3]] == ["completed", "cancelled", "cancelled"]
    assert progress.runs[2].reason == "cancelled before it started"
    assert (elements(progress.to_do()), elements(progress.missing())) == ([1, 2], [])


def test_an_unfinished_pack_is_still_to_do_when_its_job_has_ended(queued_sweep: QueuedSweep) -> None:
    queued_sweep.record(0)
    queued_sweep.begin(1)
    queued_sweep.logged.add(("7", 0))
    progress = queued_sweep.survey(OTHERS_RUN, ended("TIMEOUT", 0))
    assert [run.state for run in progress.runs[:3]] == ["completed", "timeout", "planned"]
    assert progress.runs[2].reason == "its job ended (TIMEOUT) before its turn"
    assert elements(progress.to_do()) == [1, 2]
    assert elements(progress.missing()) == [2], "the other has an outcome, which the experiment does not retry"
    assert concluded(progress) == [1]


def test_what_had_no_turn_stays_planned_when_the_outcome_of_the_one_before_it_is_saved(
    queued_sweep: QueuedSweep,
) -> None:
    """Then nothing but that record says that the job had come so far: the folder of what it ran is gone."""
    queued_sweep.begin(4)
    lost = ended("NODE_FAIL", 2)
    assert queued_sweep.states(entries("0|PENDING", "1|PENDING"), lost)[4:] == ["node_failure", "planned"]
    queued_sweep.record(4, "node_failure", attempt=None)
    queued_sweep.scratch.clear()
    assert queued_sweep.states(entries("0|PENDING", "1|PENDING"), lost)[4:] == ["node_failure", "planned"]


def test_what_was_cut_off_as_the_time_of_its_job_was_over_is_missing(queued_sweep: QueuedSweep) -> None:
    error = {"type": "job_time", "message": "the job reached its time limit", "last_lines": []}
    queued_sweep.record(0)
    queued_sweep.record(1, "cancelled", error=error)
    queued_sweep.record(3, "cancelled")
    gone = {**ended("TIMEOUT", 0), **ended("CANCELLED by 0", 1)}
    progress = queued_sweep.survey(entries("2|PENDING|Priority"), gone)
    assert [run.state for run in progress.runs[:4]] == ["completed", "cancelled", "planned", "cancelled"]
    assert elements(progress.missing()) == [1, 2]
    assert elements(progress.to_do()) == [1, 2, 3]


def test_if_a_job_has_begun_none_of_a_pack_all_of_it_ended_as_the_job_did(queued_sweep: QueuedSweep) -> None:
    progress = queued_sweep.survey(OTHERS_RUN, ended("TIMEOUT", 0))
    assert [run.state for run in progress.runs[:3]] == 3 * ["timeout"]
    assert concluded(progress) == [0, 1, 2]


@pytest.mark.parametrize("reason", ["JobHeldUser", "JobHeldAdmin", "DependencyNeverSatisfied", "PartitionTimeLimit"])
def test_what_waits_for_somebody_never_starts_and_is_not_run_twice(queued_sweep: QueuedSweep, reason: str) -> None:
    progress = queued_sweep.survey(entries(*(f"{index}|PENDING|{reason}" for index in ALL)))
    assert {run.state for run in progress.runs} == {"never_started"}
    assert (progress.to_do(), progress.missing()) == ([], [])
    assert all(run.in_queue and not run.ended for run in progress.runs)
    assert concluded(progress) == []
    released = queued_sweep.states(entries(*(f"{index}|PENDING|Priority" for index in ALL)))
    assert set(released) == {"pending"}


def test_what_slurm_itself_gave_up_never_started_and_is_to_do(queued_sweep: QueuedSweep) -> None:
    progress = queued_sweep.survey(entries(*(f"{index}|CANCELLED|DependencyNeverSatisfied" for index in ALL)))
    assert {run.state for run in progress.runs} == {"never_started"}
    assert elements(progress.to_do()) == list(range(ELEMENTS))
    assert progress.missing() == [], "it would end so again"


def test_of_what_was_cancelled_while_it_was_pending_slurm_keeps_nothing(queued_sweep: QueuedSweep) -> None:
    """But of the rest of the array it does."""
    progress = queued_sweep.survey(entries("0|PENDING|Priority", "2|PENDING|Priority"))
    assert (progress.runs[3].state, progress.runs[3].reason) == ("cancelled", "cancelled before it started")
    assert concluded(progress) == [3]


def test_what_ended_so_long_ago_that_slurm_has_forgotten_it_is_not_called_cancelled(queued_sweep: QueuedSweep) -> None:
    """On a cluster without accounting, while the rest of the array still waits: its log says that it had started."""
    queued_sweep.logged.add(("7", 1))
    progress = queued_sweep.survey(entries("0|PENDING|Priority", "2|PENDING|Priority"))
    message = "its job ended without leaving a record; Slurm has no data on it"
    assert (progress.runs[3].state, progress.runs[3].reason) == ("failed", message)


def test_an_array_that_was_cancelled_as_a_whole_before_it_started_is_cancelled(queued_sweep: QueuedSweep) -> None:
    gone = {element: entry for index in range(3) for element, entry in ended("CANCELLED by 0", index, nodes="").items()}
    progress = queued_sweep.survey({}, gone)
    assert [(run.state, run.reason) for run in progress.runs] == 6 * [("cancelled", "cancelled before it started")]


def test_what_the_accounting_calls_running_is_unknown_until_it_cannot_run_any_more(queued_sweep: QueuedSweep) -> None:
    run = queued_sweep.survey({}, ended("RUNNING", 1)).runs[3]
    assert run.state == "unknown"
    assert run.reason.endswith(": not found; but sacct still reports RUNNING")
    assert queued_sweep.states({}, ended("RUNNING", 1, overdue=True))[3] == "node_failure"


def test_what_the_accounting_calls_pending_is_out_of_the_queue_and_not_run_again_unasked(
    queued_sweep: QueuedSweep,
) -> None:
    progress = queued_sweep.survey({}, ended("PENDING", 1, nodes=""))
    assert (progress.runs[3].state, progress.runs[3].reason) == ("cancelled", "cancelled before it started")
    assert 3 in elements(progress.to_do())
    assert 3 not in elements(progress.missing())


@pytest.mark.parametrize("in_queue", [True, False])
def test_a_node_that_does_not_see_the_folder_is_named(queued_sweep: QueuedSweep, in_queue: bool) -> None:
    told = entries("1|FAILED|JobLaunchFailure|n5") if in_queue else {}
    run = queued_sweep.survey(told, {} if in_queue else ended("FAILED", 1, exit_code="0:53", nodes="n5")).runs[3]
    log = queued_sweep.sweep.paths.log(BATCH, 1, "7")
    assert (run.state, run.reason) == (
        "node_failure",
        f"n5 could not write {log}: check that it can access this directory",
    )


def test_a_script_that_never_began_is_the_fault_of_its_node(queued_sweep: QueuedSweep) -> None:
    run = queued_sweep.survey({}, ended("FAILED", 1, nodes="n5")).runs[3]
    assert (run.state, run.reason) == ("node_failure", "its script did not start on n5; Slurm reports FAILED")


def test_what_slurm_no_longer_knows_at_all_has_failed_without_a_reason(queued_sweep: QueuedSweep) -> None:
    progress = queued_sweep.survey({})
    assert {run.state for run in progress.runs} == {"failed"}
    assert progress.runs[0].reason == "its job ended without leaving a record; Slurm has no data on it"


def test_what_the_accounting_does_not_tell_is_unknown_and_not_run_again(queued_sweep: QueuedSweep) -> None:
    progress = survey(queued_sweep.snapshot(entries("0|RUNNING", "2|NODE_FAIL"), sacct_failed=True))
    assert [run.state for run in progress.runs] == [*3 * ["pending"], "unknown", "node_failure", "node_failure"]
    assert 3 not in elements(progress.to_do())


def test_if_slurm_was_not_asked_only_the_records_count(queued_sweep: QueuedSweep) -> None:
    queued_sweep.record(0)
    progress = queued_sweep.survey(None)
    assert [run.state for run in progress.runs] == ["completed", *5 * ["unknown"]]
    assert progress.to_do() == []


def test_only_the_user_who_submitted_it_says_how_a_job_ended(queued_sweep: QueuedSweep) -> None:
    queued_sweep.submit("job-1.bb", "9", [(3,)], uid=os.getuid() + 1)
    progress = queued_sweep.survey(entries("0|RUNNING", "2|RUNNING"), ended("FAILED", 0, array="9"))
    run = progress.runs[3]
    assert run.state == "unknown"
    assert "only the user who submitted the job can determine its outcome" in run.reason
    assert elements(progress.to_do()) == []


def test_an_intent_that_slurm_may_not_have_is_not_submitted(queued_sweep: QueuedSweep) -> None:
    queued_sweep.submit("job-1.bb", None, [(3,)])
    assert queued_sweep.states(entries(*(f"{index}|PENDING|Priority" for index in ALL)))[3] == "planned"


def test_what_is_in_no_batch_is_planned(queued_sweep: QueuedSweep) -> None:
    queued_sweep.places.clear()
    assert set(queued_sweep.states({})) == {"planned"}


def test_the_latest_batch_of_a_run_counts(queued_sweep: QueuedSweep) -> None:
    queued_sweep.record(0, "failed")
    queued_sweep.record(3)
    queued_sweep.submit("job-1.bb", "9", [(0, 2)])
    told = {**entries("2|RUNNING|None|n1"), **entries("0|PENDING|Priority", array="9")}
    runs = queued_sweep.survey(told, ended("FAILED", 0)).runs
    assert [(run.state, run.slurm_id, run.index) for run in runs[:4:2]] == [("pending", "9", 0), ("pending", "9", 0)]
    assert runs[3].state == "completed"


def test_how_the_latest_job_ended_counts_though_an_earlier_one_has_written_a_record(queued_sweep: QueuedSweep) -> None:
    queued_sweep.record(3, "failed")
    queued_sweep.submit("job-1.bb", "9", [(3,)])
    run = queued_sweep.survey({}, ended("NODE_FAIL", 0, array="9")).runs[3]
    assert (run.state, run.slurm_id, len(run.attempts)) == ("node_failure", "9", 2)
    queued_sweep.record(3, "node_failure", array="9", attempt=None)
    assert queued_sweep.states({})[3] == "node_failure", "also when it is read again"


def test_what_has_completed_stays_so_if_a_later_job_fails(queued_sweep: QueuedSweep) -> None:
    """As `resume --interference` submits one."""
    queued_sweep.record(3, **judged("interference"))
    queued_sweep.submit("job-1.bb", "9", [(3,)])
    progress = queued_sweep.survey({}, ended("NODE_FAIL", 0, array="9"))
    assert (progress.runs[3].state, progress.runs[3].slurm_id) == ("completed", "7")
    assert 3 not in concluded(progress)


def test_what_was_disturbed_is_not_at_its_end_while_its_job_may_measure_it_again(queued_sweep: QueuedSweep) -> None:
    queued_sweep.record(3, **judged("interference"))
    assert queued_sweep.states(entries("1|RUNNING"))[3] == "running"
    assert queued_sweep.states(entries("1|COMPLETED"))[3] == "completed"
    assert queued_sweep.states({})[3] == "completed"


@pytest.mark.parametrize("again", ["clean", "unmonitored", "interference"])
def test_what_was_measured_as_often_as_asked_or_undisturbed_is_at_its_end(
    queued_sweep: QueuedSweep, again: str
) -> None:
    """Though its job goes on with others."""
    for attempt, verdict in enumerate(["interference", again], 1):
        queued_sweep.record(4, attempt=attempt, **judged(verdict))
    assert queued_sweep.states(entries("2|RUNNING"))[4] == "completed"


@pytest.mark.parametrize(("failures", "state"), [(1, "running"), (2, "running"), (3, "node_failure")])
def test_what_is_retried_is_not_at_its_end_while_its_job_is_there(
    queued_sweep: QueuedSweep, failures: int, state: str
) -> None:
    for attempt in range(1, failures + 1):
        queued_sweep.record(3, "node_failure", attempt=attempt)
    assert queued_sweep.states(entries("1|RUNNING"))[3] == state


@pytest.mark.parametrize(
    ("attempts", "state"),
    [
        (["interference", "preempted"], "running"),
        (["preempted", "preempted", "interference"], "running"),
        (["interference", "preempted", "interference"], "completed"),
        (["interference", "failed"], "completed"),
    ],
)
def test_interference_and_failures_have_each_their_number_of_new_attempts(
    queued_sweep: QueuedSweep, attempts: list[str], state: str
) -> None:
    for number, ended_as in enumerate(attempts, 1):
        has_interference = ended_as == "interference"
        status, changes = ("completed", judged(ended_as)) if has_interference else (ended_as, {})
        queued_sweep.record(3, status, attempt=number, **changes)
    assert queued_sweep.states(entries("1|RUNNING"))[3] == state


def test_a_failure_that_is_not_retried_is_at_its_end_though_its_job_is_there(queued_sweep: QueuedSweep) -> None:
    queued_sweep.record(3, "failed")
    assert queued_sweep.states(entries("1|COMPLETING"))[3] == "failed"


def test_what_was_retried_too_often_is_to_do_for_a_person_and_not_missing(queued_sweep: QueuedSweep) -> None:
    for attempt in (1, 2, 3):
        queued_sweep.record(3, "node_failure", attempt=attempt)
    for attempt in (1, 2):
        queued_sweep.record(4, "preempted", attempt=attempt)
    queued_sweep.record(5, "failed")
    progress = queued_sweep.survey(entries("0|RUNNING"))
    assert elements(progress.to_do()) == [3, 4, 5]
    assert elements(progress.missing()) == [4]


@pytest.mark.parametrize(
    ("status", "to_do"), [("completed", False), ("unsupported", False), ("failed", True), ("skipped", True)]
)
def test_what_has_an_outcome_is_not_missing(queued_sweep: QueuedSweep, status: str, to_do: bool) -> None:
    queued_sweep.record(3, status)
    progress = queued_sweep.survey(entries("0|RUNNING", "2|RUNNING"))
    assert elements(progress.to_do()) == ([3] if to_do else [])
    assert progress.missing() == []


def test_without_a_conclusion_a_run_without_a_record_ended_as_slurm_says(queued_sweep: QueuedSweep) -> None:
    run = survey(queued_sweep.snapshot(OTHERS_RUN, ended("OUT_OF_MEMORY", 0))).runs[0]
    assert (run.state, run.reason, run.record) == ("out_of_memory", NO_RECORD, None)
    assert (run.slurm_id, run.index, run.ended) == ("7", 0, False)


def test_a_record_that_came_in_counts_more_than_a_conclusion(queued_sweep: QueuedSweep) -> None:
    made = queued_sweep.make_record(3, status="failed", attempt=None)
    queued_sweep.record(3)
    run = survey(replace(queued_sweep.snapshot({}), concluded={("job-1", 3): made})).runs[3]
    assert (run.state, run.is_concluded) == ("completed", False)


def test_a_survey_reads_nothing_but_the_snapshot(queued_sweep: QueuedSweep, monkeypatch: pytest.MonkeyPatch) -> None:
    queued_sweep.record(3)
    queued_sweep.record(4, **judged("interference"))
    queued_sweep.begin(1)
    snapshot = queued_sweep.snapshot(entries("2|RUNNING"), ended("NODE_FAIL", 0))

    def read(*_: object, **__: object) -> object:
        raise AssertionError("it reads")

    with monkeypatch.context() as patched:
        for name in ("exists", "iterdir", "is_file", "open", "read_bytes", "stat"):
            patched.setattr(Path, name, read)
        for module, name in ((os, "getuid"), (os, "scandir"), (os, "listdir"), (subprocess, "Popen"), (time, "time")):
            patched.setattr(module, name, read)
        progress, unrecorded = survey(snapshot), ended_without_record(snapshot)
    assert [run.state for run in progress.runs[:2]] == ["planned", "node_failure"]
    assert [element for _, element in unrecorded] == [1]


def test_a_job_that_submits_the_rest_is_told(queued_sweep: QueuedSweep) -> None:
    snapshot = replace(queued_sweep.snapshot({}), follow_on={"9": ""})
    progress = survey(snapshot)
    assert (progress.follow_on, progress.follows_on) == ({"9": ""}, True)
