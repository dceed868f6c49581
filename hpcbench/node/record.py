"""From what the ranks left behind to one record, appended by one writer: the job script, after its srun."""

import datetime
import json
import os
import re
import shutil
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from . import catalog, command, outcomes, provenance
from .group import RankLost
from .metrics import MetricError
from .planned import PlannedRun

SCHEMA = 1
_OOM_IN_LOG = re.compile(r"oom.kill|out of memory|exceeded memory limit", re.IGNORECASE)


class Ending(NamedTuple):
    """How the launcher ended, as the job script saw it."""

    exit_status: int
    stopped: bool  # the script was told to end (SIGTERM)
    elapsed_s: float
    limit_s: float
    margin_s: float  # by how much its clock may lag behind the one that ended it
    log: str  # the script's own output so far


class Outcome(NamedTuple):
    status: str
    error: Optional[Dict[str, Any]]
    metrics: Optional[Dict[str, Any]] = None  # of a command that completed


def write(
    planned: PlannedRun,
    sweep: Dict[str, Any],
    job: str,
    element: int,
    ending: Ending,
    scratch: str,
    path: str,
) -> Dict[str, Any]:
    """Make the record, append it to `path`, remove `scratch`; return the record. Raises OSError on a full disk."""
    ranks = read_ranks(scratch)
    outcome = conclude(planned, sweep, ranks, ending, scratch)
    record = assemble(planned, sweep, job, element, ranks, outcome, ending.elapsed_s, os.environ)
    record["attempt"] = 1 + _lines_in(path)
    append(without_secrets(record, os.environ), path)
    shutil.rmtree(scratch, ignore_errors=True)
    return record


def assemble(
    planned: PlannedRun,
    sweep: Dict[str, Any],
    job: str,
    element: int,
    ranks: List[Dict[str, Any]],
    outcome: Outcome,
    elapsed_s: float,
    environment: Mapping[str, str],
) -> Dict[str, Any]:
    """The record of a repetition, whatever became of it. What was not measured is null."""
    facts = [rank["facts"] for rank in ranks if rank["facts"]]
    first = facts[0] if facts else {}
    now = datetime.datetime.now(datetime.timezone.utc).timestamp()
    return {
        "schema": SCHEMA,
        "sweep": sweep["name"],
        "experiment": sweep["experiment"]["name"],
        "site": sweep["site"]["name"],
        "hpcbench_version": sweep["hpcbench_version"],
        "git": sweep["git"],
        "job": job,
        "element": element,
        "case_id": planned.case_id,
        "case_index": planned.case_index,
        "repetition": planned.repetition,
        "order": planned.order,
        "status": outcome.status,
        "error": outcome.error,
        "parameters": planned.parameters,
        "tags": planned.tags,
        "measure": planned.measure,
        "samples": _joint_samples(facts, planned) if outcome.status == outcomes.COMPLETED else None,
        "metrics": outcome.metrics,
        "learning": first.get("learning"),
        "work": first.get("work"),
        "threads": first.get("threads"),
        "affinity": [fact.get("affinity") for fact in facts],
        "weights_crc32": first.get("weights_crc32"),
        "import_s": first.get("import_s"),
        "build_s": first.get("build_s"),
        "peak_memory_bytes": _largest(facts, "peak_memory_bytes"),
        "peak_device_bytes": _largest(facts, "peak_device_bytes"),
        "python": first.get("python"),
        "executable": first.get("executable"),
        "packages": first.get("packages"),
        "framework_version": first.get("framework_version"),
        "gpus": first.get("gpus"),
        "nodes": _distinct([rank["node"] for rank in ranks]),
        "ranks": [_rank_summary(rank) for rank in ranks],
        "warnings": sorted({warning for fact in facts for warning in fact["warnings"]}),
        "slurm": provenance.slurm_facts(environment),
        "environment": _seen_by_worker(ranks) or provenance.allowed_variables(environment),
        "started_at": _iso(min((rank["started_at"] for rank in ranks), default=now - elapsed_s)),
        "ended_at": _iso(now),
    }


def without_secrets(record: Dict[str, Any], environment: Mapping[str, str]) -> Dict[str, Any]:
    """The record with secrets blotted out of all that came from outside; the plan's own words stay as they are."""
    outside = ("error", "warnings", "environment", "slurm")
    return {**record, **{name: provenance.redacted(record[name], environment) for name in outside}}


def conclude(
    planned: PlannedRun, sweep: Dict[str, Any], ranks: List[Dict[str, Any]], ending: Ending, scratch: str
) -> Outcome:
    """What became of a repetition. A command that ended well must also have said what is expected of it."""
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


def _joint_samples(facts: List[Dict[str, Any]], planned: PlannedRun) -> Dict[str, Any]:
    """The samples of all ranks together.

    Ranks that wait for each other have done a step when the slowest has. Replicas that only infer do not wait: their
    rates add up, so a step of all of them takes the harmonic mean of their times.
    """
    samples: Dict[str, Any] = dict(facts[0]["samples"])
    columns = [fact["samples"]["times_s"] for fact in facts]
    infers = planned.parameters["task"] == "inference" and not planned.is_command
    if infers and planned.parameters["strategy"] not in catalog.SHARDED:
        samples["times_s"] = [len(times) / sum(1 / time for time in times) for times in zip(*columns)]
    else:
        samples["times_s"] = [max(times) for times in zip(*columns)]
    return samples


def append(record: Dict[str, Any], path: str) -> None:
    """Add one line to a record file, durably, and whole or not at all."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    line = (json.dumps(record, separators=(",", ":")) + "\n").encode()
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(handle).st_size
        if size and os.pread(handle, 1, size - 1) != b"\n":  # a line that an earlier death cut off
            line = b"\n" + line
        try:
            written = 0
            while written < len(line):
                written += os.write(handle, line[written:])
            os.fsync(handle)
        except OSError:
            os.ftruncate(handle, size)
            raise
    finally:
        os.close(handle)


def read_ranks(scratch: str) -> List[Dict[str, Any]]:
    """What the supervisors of a repetition left behind, by rank."""
    ranks = []
    for name in os.listdir(scratch) if os.path.isdir(scratch) else []:
        if name.endswith(".json"):
            with open(os.path.join(scratch, name), encoding="utf-8") as file:
                ranks.append(json.load(file))
    return sorted(ranks, key=lambda rank: int(rank["rank"]))


def _seen_by_worker(ranks: List[Dict[str, Any]]) -> Dict[str, str]:
    """The variables of rank 0's process, which differ from the script's where a container sets its own."""
    seen: Dict[str, str] = ranks[0].get("environment", {}) if ranks else {}
    return seen


def _rank_summary(rank: Dict[str, Any]) -> Dict[str, Any]:
    summary = {name: rank[name] for name in ("rank", "host", "exit_code", "signal", "stopped_by")}
    summary["ended_at"] = _iso(rank["ended_at"])
    facts = rank["facts"] or {}
    summary["status"], summary["gpus"] = facts.get("status"), facts.get("gpus")
    return summary


def _lines_in(path: str) -> int:
    try:
        with open(path, "rb") as file:
            return sum(1 for _ in file)
    except FileNotFoundError:
        return 0


def tail(path: str) -> List[str]:
    """The last lines of a log; none where there is no log."""
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 16384))
            return file.read().decode("utf-8", "replace").splitlines()[-outcomes.LAST_LINES :]
    except OSError:
        return []


def _distinct(nodes: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    return list({node["hostname"]: node for node in nodes}.values())


def _largest(facts: List[Dict[str, Any]], name: str) -> Optional[int]:
    values = [fact[name] for fact in facts if fact.get(name) is not None]
    return max(values, default=None)


def _iso(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat(timespec="milliseconds")
