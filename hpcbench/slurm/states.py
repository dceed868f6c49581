"""Slurm's job states and their meaning for a run. Source: squeue(1), JOB STATE CODES."""

from __future__ import annotations

from hpcbench.core import status
from hpcbench.slurm import reasons

PENDING = "pending"
RUNNING = "running"

_WAITING = frozenset(
    {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"}
)

_UNDER_WAY = frozenset({"RUNNING", "COMPLETING", "SUSPENDED", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED"})

# The status of a run whose job ended without a record. COMPLETED: the script succeeded, but the record is missing.
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
    """Return the status of a run whose job ended in this state, or None if the job has not ended.

    `CANCELLED by 1000` counts as CANCELLED. An unknown state counts as not ended.
    """
    return _ENDED.get(slurm_state.split(" ")[0].rstrip("+"))


def is_success(slurm_state: str) -> bool:
    """Return whether a job in this state ended with exit status 0."""
    return slurm_state == "COMPLETED"


def never_starts(reason: str) -> bool:
    """Return whether a pending job with this reason never starts until a user or an administrator acts."""
    known = reasons.explain(reason)
    return known is not None and known.never


def is_active(slurm_state: str) -> bool:
    """Return whether the accounting counts a job in this state as not ended."""
    return slurm_state in _WAITING or slurm_state in _UNDER_WAY


def phase_of(slurm_state: str) -> str:
    """Return PENDING or RUNNING for a job in the queue. An unknown state counts as RUNNING."""
    return PENDING if slurm_state in _WAITING else RUNNING


def in_words(reason: str) -> str:
    """Return the reason of a pending job as a sentence. An unknown reason is returned unchanged."""
    name = reasons.code(reason)
    if name in ("", "None"):
        return ""
    known = reasons.explain(reason)
    return f"{known.means} ({name})" if known else reason
