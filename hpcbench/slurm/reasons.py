"""The reasons why Slurm does not start a job, in plain words, and what its user can do.

Sources: the page "Job Reason Codes" of Slurm's documentation, and job_state_reason.c of Slurm 20.11 to 25.11. Two
thirds of the reasons are limits, whose names follow a rule: a limit of an association (account and user) or a QOS,
for all its jobs or for one.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Reason(NamedTuple):
    """The meaning of a reason, what to do, and whether the job never starts until a user or an administrator acts."""

    means: str
    to_do: str
    never: bool = False


def explain(reason: str) -> Reason | None:
    """Return the explanation of a reason that squeue prints, or None if the reason is unknown.

    The text may have parentheses and details.
    """
    name = code(reason)
    return _REASONS.get(name) or _of_limit(name) or _of_message(reason)


def code(reason: str) -> str:
    """Return the name that begins a reason: `ReqNodeNotAvail` for `(ReqNodeNotAvail, UnavailableNodes:n1)`."""
    return reason.strip().strip("()").split(",")[0].strip()


def hint(words: str) -> str:
    """Return what to do about a reason, or an empty text if it is unknown.

    `words` is the reason as Slurm prints it or as states.in_words returns it.
    """
    if words.startswith(WILL_NOT_START):
        return _LESS
    known = explain(words) or explain(words.rpartition("(")[2])
    return known.to_do if known else ""


def requires_new_sweep(words: str) -> bool:
    """Return whether a job with this reason starts only if it requests something else; `words` as for `hint`."""
    return hint(words).endswith(NEW_SWEEP)


NEW_SWEEP = ": start a new sweep"  # ends the hints on requests that Slurm does not grant
WILL_NOT_START = "it will not start: "  # begins the words for a job that alone exceeds a limit on several jobs
_WAIT = "wait; `squeue --start` shows when Slurm expects to start it"
_SMALLER = "request less in the experiment, or for another partition: start a new sweep"
_RELEASE = "release it: `scontrol release JOBID`"
_WHY_DOWN = "`sinfo -R` lists the nodes that are down or drained, and why"
_NOT_YOURS = "wait, or ask the site's support"
_ACCOUNT = "check slurm.account: `sacctmgr show associations user=$USER` lists yours"
_QOS = "check slurm.qos: `sacctmgr show associations user=$USER` lists yours"
_AGAIN = "check its log; `hpcbench cancel`, then `hpcbench resume` submits it again"
_RESERVATION = "check slurm.reservation: `scontrol show reservation` lists them"

_REASONS = {
    "AccountNotAllowed": Reason("the account may not use this partition: it will not start", _ACCOUNT, never=True),
    "AccountingPolicy": Reason("a limit of the account or the QOS is reached", _WAIT),
    "AssociationJobLimit": Reason("the account's job limit is reached", "it starts when other jobs of the account end"),
    "AssociationResourceLimit": Reason(
        "a limit of the account is reached", "it starts when other jobs of the account end"
    ),
    "AssociationTimeLimit": Reason("the account's time limit is reached", "request a shorter slurm.time"),
    "BadConstraints": Reason(
        "no node has the requested features", "check slurm.constraint: `sinfo -o '%N %f'`", never=True
    ),
    "BeginTime": Reason(
        "it may not start yet, or it is waiting after a requeue", "wait: Slurm holds a requeued job for minutes"
    ),
    "BlockFreeAction": Reason("a block of nodes is being freed", _WAIT),
    "BlockMaxError": Reason("a block of nodes has too many errors", _NOT_YOURS),
    "BurstBufferOperation": Reason("an operation of its burst buffer failed", "check its burst buffer options"),
    "BurstBufferResources": Reason("the burst buffer has no free space", _WAIT),
    "BurstBufferStageIn": Reason("its data are being copied into the burst buffer", "wait"),
    "Cleaning": Reason("its earlier run is still being cleaned up", "wait"),
    "Constraints": Reason("nodes with the requested features are not available now", "wait, or check slurm.constraint"),
    "DeadLine": Reason("it cannot end before its deadline", "request a later deadline or a shorter slurm.time"),
    "Dependency": Reason("it depends on another job", "wait"),
    "DependencyNeverSatisfied": Reason(
        "it depends on a job that failed: it will never start", "`hpcbench cancel`, then `hpcbench resume`", never=True
    ),
    "FedJobLock": Reason("the clusters of the federation have not agreed yet which of them starts it", "wait"),
    "FrontEndDown": Reason("no front-end node is up", _NOT_YOURS),
    "InactiveLimit": Reason("its sbatch was inactive for too long", _AGAIN),
    "InvalidAccount": Reason("the account does not exist or may not be used", _ACCOUNT, never=True),
    "InvalidQOS": Reason("the QOS does not exist or may not be used", _QOS, never=True),
    "JobArrayTaskLimit": Reason("slurm.max_running of this array is reached", "wait: the next starts when one ends"),
    "JobHeldAdmin": Reason("an administrator holds it", "ask the site's support why", never=True),
    "JobHeldUser": Reason("it is held", _RELEASE, never=True),
    "JobHoldMaxRequeue": Reason("it was requeued too often, and is held", f"check its log; {_RELEASE}", never=True),
    "JobLaunchFailure": Reason("it could not be launched", _AGAIN),
    "Licenses": Reason("its licences are not free", "wait; `scontrol show licenses` shows how many are free"),
    "MaxMemPerLimit": Reason("it requests more memory per CPU or node than is allowed", "check slurm.mem", never=True),
    "MaxPoweredUpNodes": Reason("the limit of powered-up nodes is reached", _WAIT),
    "MpiPortsBusy": Reason("the ports for its MPI are in use", "wait"),
    "NodeDown": Reason("a node it needs is down", f"wait, or check slurm.nodelist; {_WHY_DOWN}"),
    "NonZeroExitCode": Reason("its earlier run failed", _AGAIN),
    "NvidiaImexChannels": Reason("no NVIDIA IMEX channel is free", _WAIT),
    "OutOfMemory": Reason("its earlier run was out of memory", "request more slurm.mem: start a new sweep"),
    "PartitionConfig": Reason("it exceeds a limit of the partition: it will not start", _SMALLER, never=True),
    "PartitionDown": Reason("the partition is down", "wait, or see `sinfo` for another partition"),
    "PartitionInactive": Reason("the partition starts no jobs", "wait, or see `sinfo` for another partition"),
    "PartitionNodeLimit": Reason(
        "it requests more nodes than the partition has or allows, or they are down",
        "see `sinfo`; request fewer nodes or another partition",
    ),
    "PartitionTimeLimit": Reason(
        "it exceeds the time limit of the partition: it will not start",
        "request a shorter slurm.time: start a new sweep",
        never=True,
    ),
    "PowerNotAvail": Reason("not enough power is available", _WAIT),
    "PowerReserved": Reason("the power that it needs is reserved", _WAIT),
    "Priority": Reason("jobs of higher priority come first", _WAIT),
    "Prolog": Reason("the site's prolog prepares its nodes", "wait"),
    "QOSJobLimit": Reason("the QOS's job limit is reached", "it starts when other jobs of this QOS end"),
    "QOSNotAllowed": Reason(
        "the account or the partition does not allow this QOS: it will not start", _QOS, never=True
    ),
    "QOSResourceLimit": Reason("a limit of the QOS is reached", "it starts when other jobs of this QOS end"),
    "QOSTimeLimit": Reason("the QOS's time limit is reached", "request a shorter slurm.time"),
    "QOSUsageThreshold": Reason("the account's usage exceeds the threshold of this QOS", "wait, or check slurm.qos"),
    "RaisedSignal": Reason("its earlier run was ended by a signal", _AGAIN),
    "ReqNodeNotAvail": Reason(
        "a node it needs is down, drained or reserved",
        f"wait; {_WHY_DOWN}; a shorter slurm.time may end before a reservation begins: `scontrol show reservation`",
    ),
    "Reservation": Reason("its reservation has not started", _RESERVATION),
    "ReservationDeleted": Reason("its reservation was deleted: it will not start", _RESERVATION, never=True),
    "ReservationInvalid": Reason("its reservation is no longer valid: it will not start", _RESERVATION, never=True),
    "Resources": Reason(
        "the nodes, CPUs, memory or GPUs it needs are not free", f"{_WAIT}; a shorter slurm.time fits into more gaps"
    ),
    "SchedDefer": Reason("Slurm defers scheduling on this cluster", "wait"),
    "SystemFailure": Reason("Slurm, a file system or the network failed", _NOT_YOURS),
    "TimeLimit": Reason("its earlier run took too long", "request a longer slurm.time: start a new sweep"),
    "WaitingForScheduling": Reason("Slurm has not considered it yet", "wait"),
}

# Messages that Slurm prints instead of a name; older versions with _ for blanks.
_MESSAGES = {
    "job requeued in held state": Reason("it was requeued and is held", f"check its log; {_RELEASE}", never=True),
    "launch failed requeued held": Reason(
        "it could not be launched, and is held", f"check its log; {_RELEASE}", never=True
    ),
    "nodes required for job are down": Reason(
        "nodes it needs are down, drained or reserved for other partitions", f"{_WAIT}; {_WHY_DOWN}"
    ),
}

_LIMIT = re.compile(
    r"(?P<of>Assoc|QOS|)(?P<kind>Grp|Max|Min)"
    r"(?P<what>BB|Billing|C[Pp][Uu]|Energy|GRES|License|Mem|Node|Unknown|SubmitJob|Job|Wall)(?:ory|s|Duration)?"
    r"(?P<time>(?:Run)?Min(?:ute)?s)?(?P<per>Per(?:Job|Node|User|Account))?(?:Limit|NotSatisfied)?"
)
_WHAT = {  # the limited resource: in use at one time, and in minutes of use
    "BB": ("burst buffer", "burst buffer"),
    "Billing": ("billing units", "billing"),
    "CPU": ("CPUs", "CPU"),
    "Energy": ("energy", "energy"),
    "GRES": ("GPUs", "GPU"),
    "License": ("licences", "licence"),
    "Mem": ("memory", "memory"),
    "Node": ("nodes", "node"),
    "Unknown": ("units of a resource", "resource"),
    "SubmitJob": ("jobs in the queue", ""),
    "Job": ("running jobs", ""),
    "Wall": ("wall time", ""),
}
_LESS = "request less in the experiment, or check slurm.account and slurm.qos: start a new sweep"


def _of_limit(name: str) -> Reason | None:
    """Return the explanation of a limit by the rule for its name, or None."""
    found = _LIMIT.fullmatch(name)
    if not found:
        return None
    owner = "account" if found["of"] == "Assoc" else "QOS"
    at_once, each = _WHAT["CPU" if found["what"] == "Cpu" else found["what"]]
    what = f"{each} minutes" if found["time"] else at_once
    if found["kind"] == "Min":
        return Reason(
            f"it requests fewer {what} than the {owner} requires: it will not start",
            _LESS.replace("less", "more"),
            never=True,
        )
    if found["per"] in ("PerJob", "PerNode"):
        place = found["per"].removeprefix("Per").lower()
        return Reason(f"it exceeds the {owner}'s limit on {what} per {place}: it will not start", _LESS, never=True)
    return _of_many(owner, _whose(found), what, found["time"] or "")


def _whose(found: re.Match[str]) -> str:
    """Return whose jobs the limit counts; yours if it is a limit per user."""
    if found["per"] == "PerUser" or (found["kind"] == "Max" and not found["per"]):
        return "your"
    return "the account's" if found["per"] == "PerAccount" or found["of"] == "Assoc" else "the QOS's"


def _of_many(owner: str, whose: str, what: str, time: str) -> Reason:
    """Return the explanation of a limit on several jobs together: on their current resources, or on minutes of use."""
    within = "" if owner in whose else f" in this {owner}"
    if time.startswith("Run"):
        limit = f"{whose} limit on {what} of running jobs{within} is reached"
        return Reason(limit, "it starts as running jobs progress; a shorter slurm.time counts less")
    if time or what == "wall time":
        spent = f"{whose} budget of {what}{within} is used up"
        return Reason(spent, "ask the site for more, or check slurm.account and slurm.qos")
    return Reason(f"{whose} limit on {what}{within} is reached", "it starts when other jobs under this limit end")


def _of_message(reason: str) -> Reason | None:
    text = reason.strip().strip("()").replace("_", " ").lower()
    return next((known for start, known in _MESSAGES.items() if text.startswith(start)), None)
