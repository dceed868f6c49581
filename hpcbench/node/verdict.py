"""Why a repetition ended as it did: from its ranks, and how their launcher ended, to one outcome."""

import os
import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from . import command, outcomes
from .group import RankLost
from .metrics import MetricError
from .planned import PlannedRun

_OOM_IN_LOG = re.compile(r"oom.kill|out of memory|exceeded memory limit", re.IGNORECASE)


class Ending(NamedTuple):
    """How the launcher ended, as the job script saw it."""

    exit_status: int
    stopped: bool  # the script was told to end (SIGTERM)
    elapsed_s: float
    limit_s: float
    margin_s: float  # by how much its clock may lag behind the one that ended it
    log: str  # the script's own output so far
    noise: str = ""  # why nothing was started: what others did on the node


class Outcome(NamedTuple):
    status: str
    error: Optional[Dict[str, Any]]
    metrics: Optional[Dict[str, Any]] = None  # of a command that completed


def conclude(
    planned: PlannedRun, sweep: Dict[str, Any], ranks: List[Dict[str, Any]], ending: Ending, scratch: str
) -> Outcome:
    """What became of a repetition. A command that ended well must also have said what is expected of it."""
    if ending.noise and not ending.stopped:
        message = "the node is not quiet: %s; `hpcbench resume` tries again" % " ".join(ending.noise.split())
        return Outcome(outcomes.SKIPPED, {"type": outcomes.SKIPPED, "message": message, "last_lines": []})
    outcome = judge(ranks, planned.tasks, ending)
    if outcome.status != outcomes.COMPLETED or not planned.is_command:
        return outcome
    try:
        return outcome._replace(metrics=command.measured(sweep["experiment"], ranks, scratch))
    except MetricError as error:
        told = {"type": "metric", "message": str(error), "last_lines": ranks[0]["last_lines"]}
        return Outcome(outcomes.FAILED, told)


def judge(ranks: List[Dict[str, Any]], expected: int, ending: Ending) -> Outcome:
    """The status of a repetition and why. The first rank to fail on its own is the cause; the others were ended."""
    if len(ranks) == expected and all(_completed(rank) for rank in ranks):
        return Outcome(outcomes.COMPLETED, None)
    culprits = [rank for rank in ranks if not _completed(rank) and not _stopped(rank, ending)]
    if culprits:
        return _of_rank(min(culprits, key=_precedence))
    if ending.stopped or any(rank["stopped_by"] for rank in ranks):
        return _of_stop(ending)
    return _of_silence(len(ranks), expected, ending)


def _precedence(rank: Dict[str, Any]) -> Tuple[int, float]:
    """Who was killed is a cause, whatever the clocks of the nodes say: losing another rank raises or aborts. So is who
    lacked something; and who only lost another rank is none."""
    facts = rank["facts"] or {}
    if _killed(rank):
        place = 0
    elif facts.get("status") in (outcomes.OUT_OF_MEMORY, outcomes.UNSUPPORTED):
        place = 1
    else:
        place = 3 if (facts.get("error") or {}).get("type") == RankLost.__name__ else 2
    return place, float(rank["ended_at"])


def _killed(rank: Dict[str, Any]) -> bool:
    return bool(rank["signal"] == "SIGKILL" or rank["exit_code"] == outcomes.KILLED)


def _completed(rank: Dict[str, Any]) -> bool:
    return rank["exit_code"] == 0 and (rank["facts"] or {}).get("status") == outcomes.COMPLETED


def _stopped(rank: Dict[str, Any], ending: Ending) -> bool:
    """Whether a rank was told to end; its worker may die of the signal before its supervisor has seen it."""
    died = rank["signal"] in ("SIGTERM", "SIGKILL") or rank["exit_code"] in (outcomes.TERMINATED, outcomes.KILLED)
    return bool(rank["stopped_by"] or (ending.stopped and died))


def _of_rank(rank: Dict[str, Any]) -> Outcome:
    facts = rank["facts"]
    told = facts["error"] if facts and "error" in facts else {}
    error = {"rank": rank["rank"], "exit_code": rank["exit_code"], "signal": rank["signal"], **told}
    error.setdefault("last_lines", rank["last_lines"])
    if told:
        return Outcome(facts["status"], error)
    if _killed(rank) and rank["oom_kills"]:
        error.update(type="killed", message="the kernel killed it because memory ran out")
        return Outcome(outcomes.OUT_OF_MEMORY, error)
    how = "was killed by %s" % rank["signal"] if rank["signal"] else "exited with %s" % rank["exit_code"]
    error.update(type="killed" if rank["signal"] else "exit", message="rank %d %s" % (rank["rank"], how))
    return Outcome(outcomes.FAILED, error)


# What slurmstepd writes into the log when it ends a job or step (Slurm 20.11 to 24.11).
_ENDED_BY_SLURM = (
    ("DUE TO TIME LIMIT", outcomes.TIMEOUT),
    ("DUE TO NODE FAILURE", outcomes.NODE_FAILURE),
    ("DUE TO PREEMPTION", outcomes.CANCELLED),
)


def _of_stop(ending: Ending) -> Outcome:
    """Slurm says in the log why it ended a job; on this machine only the clock can tell a timeout from a cancel."""
    lines = tail(ending.log)
    for words, status in _ENDED_BY_SLURM:
        if any(words in line for line in lines):
            return _stopped_as(status, "Slurm ended it %s after %.0f s" % (words.lower(), ending.elapsed_s))
    if ending.elapsed_s >= ending.limit_s - ending.margin_s:
        said = "stopped after %.0f s: the wall time is %.0f s" % (ending.elapsed_s, ending.limit_s)
        return _stopped_as(outcomes.TIMEOUT, said)
    return _stopped_as(outcomes.CANCELLED, "cancelled after %.0f s" % ending.elapsed_s)


def _stopped_as(status: str, message: str) -> Outcome:
    return Outcome(status, {"type": status, "message": message, "last_lines": []})


def _of_silence(present: int, expected: int, ending: Ending) -> Outcome:
    """Ranks that left nothing were killed with their supervisors, or never started; the log may say why."""
    lines = tail(ending.log)
    error: Dict[str, Any] = {"type": "launcher", "exit_code": ending.exit_status, "last_lines": lines}
    if any(_OOM_IN_LOG.search(line) for line in lines):
        error["message"] = "killed because memory ran out"
        return Outcome(outcomes.OUT_OF_MEMORY, error)
    missing = (expected - present, expected, ending.exit_status)
    error["message"] = "%d of %d tasks left no result; the launcher exited with %d" % missing
    complaint = _complaint(lines)
    if complaint and not present:  # a container or an interpreter that could not be started
        error["message"] += "; the log ends: %s" % complaint
    return Outcome(outcomes.FAILED, error)


def _complaint(lines: List[str]) -> str:
    """The last line that is not Slurm telling that something has failed."""
    told = [line.strip() for line in lines if not line.startswith(("srun: ", "slurmstepd: "))]
    return next((line for line in reversed(told) if line), "")


def tail(path: str) -> List[str]:
    """The last lines of a log; none where there is no log."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 16384))
            return file.read().decode("utf-8", "replace").splitlines()[-outcomes.LAST_LINES :]
    except OSError:
        return []
