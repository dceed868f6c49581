"""Slurm's job states and reasons, and what they mean for a repetition. From squeue(1), JOB STATE CODES and REASONS."""

from __future__ import annotations

from hpcbench.node import outcomes

PENDING = "pending"
RUNNING = "running"

_WAITING = frozenset(
    {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"}
)

_UNDER_WAY = frozenset({"RUNNING", "COMPLETING", "SUSPENDED", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED"})

# How a job ended that left no record. COMPLETED is here too: the script ended well, and yet there is no record.
_ENDED = {
    "BOOT_FAIL": outcomes.NODE_FAILURE,
    "CANCELLED": outcomes.CANCELLED,
    "COMPLETED": outcomes.FAILED,
    "DEADLINE": outcomes.TIMEOUT,
    "FAILED": outcomes.FAILED,
    "LAUNCH_FAILED": outcomes.FAILED,
    "NODE_FAIL": outcomes.NODE_FAILURE,
    "OUT_OF_MEMORY": outcomes.OUT_OF_MEMORY,
    "PREEMPTED": outcomes.CANCELLED,
    "RECONFIG_FAIL": outcomes.FAILED,
    "REVOKED": outcomes.CANCELLED,
    "TIMEOUT": outcomes.TIMEOUT,
}

_REASONS = {
    "AssocGrpCpuLimit": "the account's limit of CPUs in use is reached",
    "AssocGrpGRES": "the account's limit of GPUs in use is reached",
    "AssocMaxJobsLimit": "your limit of running jobs is reached",
    "BadConstraints": "no node has the features asked for: check slurm.constraint",
    "BeginTime": "it may not start yet, or it is waiting after a requeue",
    "Dependency": "it waits for another job",
    "DependencyNeverSatisfied": "it waits for a job that failed: it will never start",
    "InvalidAccount": "the account does not exist or may not be used: check slurm.account",
    "InvalidQOS": "the QOS does not exist or may not be used: check slurm.qos",
    "JobArrayTaskLimit": "slurm.max_running of this array is reached",
    "JobHeldAdmin": "an administrator holds it",
    "JobHeldUser": "it is held: `scontrol release` lets it go",
    "Licenses": "it waits for a licence",
    "MaxGRESPerAccount": "the account's limit of GPUs is reached",
    "NodeDown": "a node it needs is down",
    "PartitionConfig": "it asks for more than the partition allows: it will not start",
    "PartitionDown": "the partition is down",
    "PartitionNodeLimit": "it asks for more nodes than the partition has or allows: it will not start",
    "PartitionTimeLimit": "its time is over the partition's limit: it will not start",
    "Priority": "jobs of higher priority come first",
    "QOSMaxCpuPerUserLimit": "your limit of CPUs in this QOS is reached",
    "QOSMaxJobsPerUserLimit": "your limit of jobs in this QOS is reached",
    "QOSMaxSubmitJobPerUserLimit": "your limit of submitted jobs in this QOS is reached",
    "ReqNodeNotAvail": "a node it needs is down, drained or reserved",
    "Reservation": "it waits for its reservation",
    "Resources": "it waits for free nodes, CPUs, memory or GPUs",
}


def outcome_of(slurm_state: str) -> str | None:
    """The status of a repetition whose job ended in this state; None while the job has not ended.

    `CANCELLED by 1000` counts as CANCELLED. A state that nobody heard of is no end.
    """
    return _ENDED.get(slurm_state.split(" ")[0].rstrip("+"))


def is_active(slurm_state: str) -> bool:
    """Whether accounting still counts a job with this state as not ended."""
    return slurm_state in _WAITING or slurm_state in _UNDER_WAY


def phase_of(slurm_state: str) -> str:
    """Pending or running, for a job that is in the queue; an unknown state has started, so it runs."""
    return PENDING if slurm_state in _WAITING else RUNNING


def in_words(reason: str) -> str:
    """Slurm's reason for a pending job as a sentence; one without a translation as it is."""
    code = reason.strip("()").split(",")[0]
    if code in ("", "None"):
        return ""
    return f"{_REASONS[code]} ({code})" if code in _REASONS else reason
