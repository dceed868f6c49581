"""Slurm's job states and what they mean for a repetition. From squeue(1), JOB STATE CODES."""

from __future__ import annotations

from hpcbench.core import status
from hpcbench.slurm import reasons

PENDING = "pending"
RUNNING = "running"

_WAITING = frozenset(
    {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"}
)

_UNDER_WAY = frozenset({"RUNNING", "COMPLETING", "SUSPENDED", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED"})

# How a job ended that left no record. COMPLETED is here too: the script ended well, and yet there is no record.
_ENDED = {
    "BOOT_FAIL": status.NODE_FAILURE,
    "CANCELLED": status.CANCELLED,
    "COMPLETED": status.FAILED,
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


def outcome_of(slurm_state: str) -> str | None:
    """The status of a repetition whose job ended in this state; None while the job has not ended.

    `CANCELLED by 1000` counts as CANCELLED. A state that nobody heard of is no end.
    """
    return _ENDED.get(slurm_state.split(" ")[0].rstrip("+"))


def never_starts(reason: str) -> bool:
    """Whether a pending job with this reason stays so until somebody does something."""
    known = reasons.explain(reason)
    return known is not None and known.never


def is_active(slurm_state: str) -> bool:
    """Whether accounting still counts a job with this state as not ended."""
    return slurm_state in _WAITING or slurm_state in _UNDER_WAY


def phase_of(slurm_state: str) -> str:
    """Pending or running, for a job that is in the queue; an unknown state has started, so it runs."""
    return PENDING if slurm_state in _WAITING else RUNNING


def in_words(reason: str) -> str:
    """Slurm's reason for a pending job as a sentence; one without a translation as it is."""
    name = reasons.code(reason)
    if name in ("", "None"):
        return ""
    known = reasons.explain(reason)
    return f"{known.means} ({name})" if known else reason
