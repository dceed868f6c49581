"""Determine the outcome of a run, from its ranks and from how their launcher ended."""

import os
import re
from enum import Enum
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ...core.metrics.error import MetricError
from ...core.run_spec import PlannedRun
from ...core.status import (
    CANCELLED,
    COMPLETED,
    FAILED,
    GAVE_UP,
    INTERNAL,
    JOB_TIME,
    KILLED,
    LAST_LINES,
    NODE_FAILURE,
    OUT_OF_MEMORY,
    PREEMPTED,
    SETUP,
    SKIPPED,
    STOPPED,
    TERMINATED,
    TIME_LIMIT,
    TIMEOUT,
    TOO_LARGE,
    UNEXPECTED,
    UNSUPPORTED,
)
from .. import complaint, oom_detection
from ..errors import RankLost

if TYPE_CHECKING:
    from .probed_steps import ProbedSteps

MOST_BYTES = 4 << 20  # of a log: programs may print much after the messages of Slurm
_HELPER_KILLED = re.compile(r"\bworker \(pid \d+\) is killed by signal: Killed\b")
_PERHAPS = (
    "; the kernel killed a process on this machine because memory ran out, but the cgroup of this one does not count "
    "such kills: whether this process was killed is unknown"
)


class NotStarted(Enum):
    """A reason why srun started nothing that is not the fault of the run."""

    JOB_IS_ENDING = "the job is being ended"
    NO_CONTROLLER = "slurmctld does not respond"


# Messages of srun that starts nothing: the job is ending, and the script has no signal yet; or slurmctld does not
# respond.
_OF_SRUN = (
    (
        re.compile("srun: .*(?:Job/step already complet|has been revoked|Invalid job id specified)"),
        NotStarted.JOB_IS_ENDING,
    ),
    (
        re.compile(
            "srun: .*(?:Unable to contact slurm controller"
            "|Unable to (?:confirm allocation|create step) for job .*(?:timed out|Zero Bytes|Unexpected message))"
        ),
        NotStarted.NO_CONTROLLER,
    ),
)
_NODE_FAILURE = re.compile(
    r"srun: error: (Node failure on \S+)|" + oom_detection.SLURMSTEPD + r".* DUE TO (NODE FAILURE)\b"
)


class Ending(NamedTuple):
    """How the launcher of a run ended, as observed by the driver of the job."""

    exit_status: int
    stopped: bool  # by a signal to the script (SIGTERM)
    elapsed_s: float
    limit_s: float
    log: str  # the path of the script's output
    log_from: int = 0  # the offset in it at which this run begins, in bytes
    shared: bool = False  # whether the job has other runs, which use its time, too
    preempted: bool = False  # Slurm preempts the job, but has not sent a signal to the script yet
    noise: str = ""  # why nothing was started: activity of others on the node
    too_large: str = ""  # why nothing was started: a smaller case ran out of memory
    halted: str = ""  # why nothing was started: the sweep has stopped after failures


class Outcome(NamedTuple):
    status: str
    error: Optional[Dict[str, Any]]
    metrics: Optional[Dict[str, Any]] = None  # of a completed command
    steps: "Optional[ProbedSteps]" = None  # of a completed command that used the probe
    warnings: Sequence[str] = ()

    @property
    def is_unexpected(self) -> bool:
        """Return whether a command ended without an error, but its output lacks an expected pattern."""
        return self.error is not None and self.error["type"] == UNEXPECTED


def why_not_started(ranks: List[Dict[str, Any]], ending: Ending) -> Optional[NotStarted]:
    """Return why Slurm started nothing of a run, by the messages of srun; None if it did, or for another reason."""
    lines = [] if ranks else lines_of(ending.log, ending.log_from)
    reasons = (why for words, why in _OF_SRUN if any(words.search(line) for line in lines))
    return next(reasons, None)


def conclude(
    planned: PlannedRun, sweep: Dict[str, Any], ranks: List[Dict[str, Any]], ending: Ending, scratch: str
) -> Outcome:
    """Return the outcome of a run. A command that succeeded must also have printed the expected text."""
    try:
        return _concluded(planned, sweep, ranks, ending, scratch)
    except OSError:
        raise
    except Exception as error:  # unforeseen content of a file must not end the job: other runs follow
        return not_evaluated(error)


def not_evaluated(error: Exception) -> Outcome:
    """Return the outcome of a run whose files made hpcbench raise this error, which is being handled."""
    import traceback

    message = "hpcbench cannot evaluate what the run left: %s: %s" % (type(error).__name__, error)
    lines = traceback.format_exc().splitlines()[-LAST_LINES:]
    return Outcome(FAILED, {"type": INTERNAL, "message": message, "last_lines": lines})


def _concluded(
    planned: PlannedRun, sweep: Dict[str, Any], ranks: List[Dict[str, Any]], ending: Ending, scratch: str
) -> Outcome:
    if ending.halted and not ending.stopped:
        return _skipped(STOPPED, "not started, because %s" % ending.halted)
    if ending.too_large and not ending.stopped:
        return _skipped(TOO_LARGE, ending.too_large)
    if ending.noise and not ending.stopped:
        message = "the node is not idle: %s; `hpcbench resume` retries" % " ".join(ending.noise.split())
        return _skipped(SKIPPED, message)
    outcome = judge(ranks, planned.ranks, ending)
    if not planned.is_command:
        return outcome
    from ...core.metrics import logged  # runs of frameworks do not need these
    from . import command_metrics, probed_steps

    if outcome.status != COMPLETED:
        # Slurm kills a stopped job after some seconds: its record comes first.
        return outcome if ending.stopped else outcome._replace(warnings=probed_steps.of_unfinished(scratch))
    steps, of_files = probed_steps.of_run(planned, ranks, scratch)
    of_steps = steps.metrics if steps else {}
    warnings = [*of_files, *(steps.warnings if steps else ())]
    try:
        found = command_metrics.measured(sweep["experiment"], ranks, scratch)
    except MetricError as error:
        failure = {"type": UNEXPECTED, "message": str(error), "last_lines": ranks[0]["last_lines"]}
        return Outcome(FAILED, failure, of_steps or None, steps, warnings)
    of_log = logged.measured(sweep["experiment"].get("metrics") or {}, steps.logged if steps else {})
    metrics = {**of_steps, **found.metrics, **of_log}  # those of the experiment precede others
    return outcome._replace(metrics=metrics, steps=steps, warnings=[*found.warnings, *warnings])


def _skipped(kind: str, message: str) -> Outcome:
    return Outcome(SKIPPED, {"type": kind, "message": message, "last_lines": []})


def of_ranks_alone(
    planned: PlannedRun, sweep: Dict[str, Any], ranks: List[Dict[str, Any]], scratch: str
) -> Optional[Outcome]:
    """Return the outcome if all ranks had ended before the driver was killed; None if one is missing."""
    if len(ranks) != planned.ranks:
        return None
    return conclude(planned, sweep, ranks, Ending(1, False, 0.0, float("inf"), log=""), scratch)


def judge(ranks: List[Dict[str, Any]], expected: int, ending: Ending) -> Outcome:
    """Return the status of a run and its cause: the first rank that failed on its own."""
    if len(ranks) == expected and all(_completed(rank) for rank in ranks):
        return Outcome(COMPLETED, None)
    lost = _lost_node(ending)
    if lost and len(ranks) < expected:  # the ranks on other nodes failed as a consequence
        return lost
    culprits = [rank for rank in ranks if not _completed(rank) and not _stopped(rank, ending)]
    if culprits:
        return _of_rank(min(culprits, key=_precedence), ending)
    if lost:
        return lost
    if ending.stopped or any(rank["stopped_by"] for rank in ranks):
        return _of_stop(ending, any(rank["stopped_by"] == TIME_LIMIT for rank in ranks))
    return _of_silence(len(ranks), expected, ending)


def _precedence(rank: Dict[str, Any]) -> Tuple[int, float]:
    """Return the sort key of a cause: killed, out of memory or unsupported, other failures, then lost ranks."""
    facts = rank["facts"] or {}
    if _killed(rank):
        place = 0
    elif facts.get("status") in (OUT_OF_MEMORY, UNSUPPORTED):
        place = 1
    else:
        place = 3 if (facts.get("error") or {}).get("type") == RankLost.__name__ else 2
    return place, float(rank["ended_at"])


def _killed(rank: Dict[str, Any]) -> bool:
    return bool(rank["signal"] == "SIGKILL" or rank["exit_code"] == KILLED)


def _completed(rank: Dict[str, Any]) -> bool:
    """Return whether a rank has ended well, or has at least completed its measurement."""
    ended = rank["exit_code"] == 0 or rank.get("is_measured")
    return bool(ended and (rank["facts"] or {}).get("status") == COMPLETED)


def _stopped(rank: Dict[str, Any], ending: Ending) -> bool:
    """Return whether a signal to the job ended a rank: its worker may end before its supervisor receives the signal."""
    died = rank["signal"] in ("SIGTERM", "SIGKILL") or rank["exit_code"] in (TERMINATED, KILLED)
    return bool(rank["stopped_by"] or (ending.stopped and died))


def _of_rank(rank: Dict[str, Any], ending: Ending) -> Outcome:
    facts = rank["facts"]
    reported = facts["error"] if facts and "error" in facts else {}
    error = {"rank": rank["rank"], "exit_code": rank["exit_code"], "signal": rank["signal"], **reported}
    error.setdefault("last_lines", rank["last_lines"])
    killed = _lost_helper(error) if reported else _killed(rank)
    if killed and (rank["oom_kills"] or oom_detection.by_slurm(lines_of(ending.log, ending.log_from))):
        what = "one of its processes" if reported else "it"
        error.update(type="killed", message="the kernel killed %s because memory ran out" % what)
        return Outcome(OUT_OF_MEMORY, error)
    if reported:
        return Outcome(facts["status"], error)
    how = "was killed by %s" % rank["signal"] if rank["signal"] else "exited with %s" % rank["exit_code"]
    error.update(type="killed" if rank["signal"] else "exit", message="rank %d %s" % (rank["rank"], how))
    if killed and rank["oom_kills"] is None and rank.get("oom_kills_of_machine"):
        error["message"] += _PERHAPS
    return Outcome(FAILED, error)


def _lost_node(ending: Ending) -> Optional[Outcome]:
    """Return a node failure by slurmstepd's or srun's messages, or None: the job continues for a short time."""
    lines = lines_of(ending.log, ending.log_from)
    match = next((found for found in map(_NODE_FAILURE.search, lines) if found), None)
    if match is None:
        return None
    error = {"type": NODE_FAILURE, "message": "Slurm reports: %s" % match.group(match.lastindex or 0)}
    return Outcome(NODE_FAILURE, {**error, "last_lines": lines[-LAST_LINES:]})


def _lost_helper(error: Dict[str, Any]) -> bool:
    """Return whether a data loader process was killed, by the message of PyTorch's DataLoader."""
    return bool(_HELPER_KILLED.search(str(error.get("message"))))


# Messages of slurmstepd in the log when it ends a job or step (Slurm 20.11 to 26.05).
_ENDED_BY_SLURM = (
    ("DUE TO TIME LIMIT", TIMEOUT),
    ("DUE TO PREEMPTION", PREEMPTED),
    ("DUE TO JOB REQUEUE", PREEMPTED),  # by scontrol requeue
)


def _of_stop(ending: Ending, at_limit: bool) -> Outcome:
    """Return the outcome of a stopped run by Slurm's message in the log; on this machine, by the time limit."""
    if at_limit or ending.elapsed_s >= ending.limit_s:
        message = "stopped after %.0f s: the time limit is %.0f s" % (ending.elapsed_s, ending.limit_s)
        return _stopped_as(TIMEOUT, message)
    if ending.preempted:
        return _stopped_as(PREEMPTED, "preempted by another job after %.0f s" % ending.elapsed_s)
    lines = [line for line in lines_of(ending.log, ending.log_from) if re.search(oom_detection.SLURMSTEPD, line)]
    for words, status in _ENDED_BY_SLURM:
        if any(words in line for line in lines):
            if status == TIMEOUT and ending.shared:
                return _out_of_job_time(ending)
            return _stopped_as(status, "Slurm ended it %s after %.0f s" % (words.lower(), ending.elapsed_s))
    return _stopped_as(CANCELLED, "cancelled after %.0f s" % ending.elapsed_s)


def _out_of_job_time(ending: Ending) -> Outcome:
    spent = (ending.elapsed_s, ending.limit_s)
    message = "the job reached its time limit after %.0f of %.0f s of this run; `hpcbench resume` continues" % spent
    return Outcome(CANCELLED, {"type": JOB_TIME, "message": message, "last_lines": []})


def _stopped_as(status: str, message: str) -> Outcome:
    return Outcome(status, {"type": status, "message": message, "last_lines": []})


def _of_silence(present: int, expected: int, ending: Ending) -> Outcome:
    """Return the outcome of a run if ranks left no file: they were killed or not started, and the log may show why."""
    lines = tail(ending.log, ending.log_from)
    error: Dict[str, Any] = {"type": "launcher", "exit_code": ending.exit_status, "last_lines": lines}
    if oom_detection.by_slurm(lines_of(ending.log, ending.log_from)):
        error["message"] = "killed because memory ran out"
        return Outcome(OUT_OF_MEMORY, error)
    gave_up = next((line for line in lines if line.startswith(GAVE_UP)), None)  # e.g. a container with an old Python
    if gave_up:
        return Outcome(FAILED, {**error, "type": SETUP, "message": gave_up[len(GAVE_UP) :]})
    missing = (expected - present, expected, ending.exit_status)
    error["message"] = "%d of %d tasks left no result; the launcher exited with %d" % missing
    reason, last = complaint.of_slurm(lines), complaint.last_words(lines)
    if reason:
        error["message"] += "; Slurm reports: %s" % reason
    elif last and not present:  # a container or an interpreter did not start
        error["message"] += "; the log ends: %s" % last
    return Outcome(FAILED, error)


def lines_of(path: str, start: int = 0, most_bytes: int = MOST_BYTES) -> List[str]:
    """Return the last lines of a log from the byte `start` on, at most `most_bytes`; empty if there is no log."""
    try:
        with open(path, "rb") as file:
            file.seek(max(start, os.fstat(file.fileno()).st_size - most_bytes))
            return file.read(most_bytes).decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def tail(path: str, start: int = 0) -> List[str]:
    """Return the last lines of a log, for a message."""
    return lines_of(path, start, 16384)[-LAST_LINES:]
