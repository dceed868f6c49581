"""What Slurm has done to a run, as srun and slurmstepd say it, and what is no word of theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hpcbench.core.status import CANCELLED, COMPLETED, FAILED, NODE_FAILURE, PREEMPTED
from hpcbench.node.results.outcome import NotStarted, judge, why_not_started
from tests.node.results.endings import TERMINATED, ending, failed

MakeRank = Callable[..., dict[str, Any]]

NO_ANSWER = "Unable to contact slurm controller (connect failure)"
CHECK = "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 7"  # said after either


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            "srun: error: Unable to create step for job 7: Job/step already completing or completed",
            NotStarted.JOB_IS_ENDING,
        ),
        ("srun: Job allocation 7 has been revoked", NotStarted.JOB_IS_ENDING),
        (f"srun: error: Unable to confirm allocation for job 7: {NO_ANSWER}\n{CHECK}", NotStarted.NO_CONTROLLER),
        (f"srun: error: Unable to create step for job 7: {NO_ANSWER}", NotStarted.NO_CONTROLLER),
        (
            f"srun: error: Unable to confirm allocation for job 7: Invalid job id specified\n{CHECK}",
            NotStarted.JOB_IS_ENDING,
        ),
        (
            "srun: error: Unable to confirm allocation for job 7: Socket timed out on send/recv operation",
            NotStarted.NO_CONTROLLER,
        ),
        (
            "srun: error: Unable to create step for job 7: Zero Bytes were transmitted or received",
            NotStarted.NO_CONTROLLER,
        ),
    ],
)
def test_what_srun_did_not_start_for_reasons_of_the_cluster_has_had_no_turn(
    line: str, why: NotStarted, log: Callable[[str], str], make_rank: MakeRank
) -> None:
    before = "hpcbench: case c1 run 1 completed\n"
    told = ending(log=log(f"{before}{line}\n"), log_from=len(before))
    assert why_not_started([], told) == why
    assert why_not_started([make_rank()], told) is None
    assert why_not_started([], told._replace(log_from=len(before) + len(line))) is None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("srun: error: Node failure on n2", "Slurm reports: Node failure on n2"),
        (
            "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026 DUE TO NODE FAILURE ***",
            "Slurm reports: NODE FAILURE",
        ),
    ],
)
def test_a_node_that_slurm_has_lost_is_the_cause_whatever_the_ranks_on_others_died_of(
    line: str, words: str, log: Callable[[str], str], make_rank: MakeRank
) -> None:
    said = ending(exit_status=0, log=log(line + "\nTraceback\n"))
    for ranks in ([], [make_rank(0, **TERMINATED)], [make_rank(0, facts=failed(), exit_code=1)]):
        outcome = judge(ranks, 2, said)
        assert outcome.status == NODE_FAILURE
        assert (outcome.error or {})["message"] == words
        assert (outcome.error or {})["last_lines"] == [line, "Traceback"]
    assert judge([make_rank(0), make_rank(1)], 2, said).status == COMPLETED
    assert judge([make_rank(0), make_rank(1, facts=failed(), exit_code=1)], 2, said).status == FAILED


def test_a_program_that_says_what_srun_would_say_has_failed(log: Callable[[str], str]) -> None:
    assert why_not_started([], ending(log=log(f"worker: {NO_ANSWER}\n"))) is None


def test_tasks_that_were_told_to_end_in_the_time_of_grace_of_a_preemption_are_preempted(make_rank: MakeRank) -> None:
    outcome = judge([make_rank(**TERMINATED)], 1, ending(preempted=True))
    assert (outcome.status, outcome.error and outcome.error["type"]) == (PREEMPTED, PREEMPTED)
    assert judge([make_rank(**TERMINATED)], 1, ending()).status == CANCELLED
