from __future__ import annotations

import pytest

from hpcbench.core import status
from hpcbench.slurm.states import PENDING, RUNNING, in_words, is_active, never_starts, outcome_of, phase_of

ENDED = {
    "BOOT_FAIL": status.NODE_FAILURE,
    "CANCELLED": status.CANCELLED,
    "CANCELLED by 0": status.CANCELLED,
    "CANCELLED by 1000": status.CANCELLED,
    "CANCELLED+": status.CANCELLED,
    "COMPLETED": status.FAILED,  # and left no record
    "DEADLINE": status.TIMEOUT,
    "FAILED": status.FAILED,
    "LAUNCH_FAILED": status.FAILED,
    "NODE_FAIL": status.NODE_FAILURE,
    "OUT_OF_MEMORY": status.OUT_OF_MEMORY,
    "PREEMPTED": status.PREEMPTED,
    "RECONFIG_FAIL": status.FAILED,
    "REVOKED": status.CANCELLED,
    "TIMEOUT": status.TIMEOUT,
}
ACTIVE = {
    "CONFIGURING": PENDING,
    "PENDING": PENDING,
    "REQUEUED": PENDING,
    "REQUEUE_FED": PENDING,
    "REQUEUE_HOLD": PENDING,
    "RESV_DEL_HOLD": PENDING,
    "SPECIAL_EXIT": PENDING,
    "COMPLETING": RUNNING,
    "RESIZING": RUNNING,
    "RUNNING": RUNNING,
    "SIGNALING": RUNNING,
    "STAGE_OUT": RUNNING,
    "STOPPED": RUNNING,
    "SUSPENDED": RUNNING,
}


@pytest.mark.parametrize(("state", "outcome"), ENDED.items())
def test_a_job_in_this_state_has_ended(state: str, outcome: str) -> None:
    assert outcome_of(state) == outcome
    assert not is_active(state)


@pytest.mark.parametrize(("state", "phase"), ACTIVE.items())
def test_a_job_in_this_state_has_not_ended(state: str, phase: str) -> None:
    assert outcome_of(state) is None
    assert phase_of(state) == phase
    assert is_active(state)


@pytest.mark.parametrize("state", ["", "BRAND_NEW", "completed"])
def test_a_state_that_nobody_heard_of_is_no_end(state: str) -> None:
    assert outcome_of(state) is None
    assert phase_of(state) == RUNNING


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("Priority", "jobs of higher priority come first (Priority)"),
        ("(Resources)", "the nodes, CPUs, memory or GPUs it needs are not free (Resources)"),
        (
            "(ReqNodeNotAvail, UnavailableNodes:n1)",
            "a node it needs is down, drained or reserved (ReqNodeNotAvail)",
        ),
        ("None", ""),
        ("", ""),
        ("BrandNewReason", "BrandNewReason"),
    ],
)
def test_a_reason_is_told_in_words_where_it_is_known(reason: str, words: str) -> None:
    assert in_words(reason) == words


@pytest.mark.parametrize(
    ("reason", "never"),
    [
        ("JobHeldUser", True),
        ("(JobHeldAdmin)", True),
        ("DependencyNeverSatisfied", True),
        ("PartitionTimeLimit", True),
        ("InvalidAccount", True),
        ("Priority", False),
        ("Resources", False),
        ("Dependency", False),
        ("BeginTime", False),
        ("JobArrayTaskLimit", False),
        ("PartitionDown", False),
        ("ReqNodeNotAvail, UnavailableNodes:n1", False),
        ("None", False),
        ("", False),
    ],
)
def test_what_waits_for_somebody_and_not_for_its_turn_never_starts(reason: str, never: bool) -> None:
    assert never_starts(reason) == never
