"""From what the ranks left behind to one record, appended by one writer: the job script, after its srun."""

import datetime
import json
import os
import shutil
from typing import Any, Dict, List, Mapping, Optional, Sequence

from . import catalog, outcomes, provenance, verdict, watched
from .planned import PlannedRun

SCHEMA = 2
TIMELINES = "timelines"  # the folder beside that of the records, with one for each job
_UNSEEN = watched.Seen()


def write(
    planned: PlannedRun,
    sweep: Dict[str, Any],
    job: str,
    element: int,
    ending: verdict.Ending,
    scratch: str,
    path: str,
) -> Dict[str, Any]:
    """Make the record, append it to `path`, remove `scratch`; return the record. Raises OSError on a full disk."""
    ranks = read_ranks(scratch)
    outcome = verdict.conclude(planned, sweep, ranks, ending, scratch)
    seen = watched.of_repetition(ranks, scratch, planned.on_gpus)
    record = assemble(planned, sweep, job, element, ranks, outcome, ending.elapsed_s, os.environ, seen)
    record["attempt"] = 1 + _lines_in(path)
    append(without_secrets(record, os.environ), path)
    folder = os.path.join(os.path.dirname(path), "..", "..", TIMELINES, job)
    watched.keep(scratch, os.path.normpath(folder), "%d-%d" % (element, record["attempt"]))
    shutil.rmtree(scratch, ignore_errors=True)
    return record


def assemble(
    planned: PlannedRun,
    sweep: Dict[str, Any],
    job: str,
    element: int,
    ranks: List[Dict[str, Any]],
    outcome: verdict.Outcome,
    elapsed_s: float,
    environment: Mapping[str, str],
    seen: watched.Seen = _UNSEEN,
) -> Dict[str, Any]:
    """The record of a repetition, whatever became of it. What was not measured is null."""
    facts = [rank["facts"] for rank in ranks if rank["facts"]]
    first = facts[0] if facts else {}
    completed = outcome.status == outcomes.COMPLETED
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
        "samples": _joint_samples(facts, planned) if completed else None,
        "interference": seen.interference if completed else None,
        "watched": seen.nodes if completed else [],
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


def _joint_samples(facts: List[Dict[str, Any]], planned: PlannedRun) -> Dict[str, Any]:
    """The samples of all ranks together.

    Ranks that wait for each other have done a step when the slowest has. Replicas that only infer do not wait: their
    rates add up, so a step of all of them takes the harmonic mean of their times.
    """
    samples: Dict[str, Any] = dict(facts[0]["samples"])
    columns = [fact["samples"]["times_s"] for fact in facts]
    infers = planned.parameters["task"] == "inference" and not planned.is_command
    if infers and planned.parameters["strategy"] not in catalog.SHARDED:
        samples["times_s"] = [_harmonic_mean(times) for times in zip(*columns)]
    else:
        samples["times_s"] = [max(times) for times in zip(*columns)]
    return samples


def _harmonic_mean(times_s: Sequence[float]) -> float:
    """0 where one of them is: a step that is shorter than the clock can tell has a rate beyond all others."""
    return len(times_s) / sum(1 / time_s for time_s in times_s) if all(times_s) else 0.0


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


def _distinct(nodes: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    return list({node["hostname"]: node for node in nodes}.values())


def _largest(facts: List[Dict[str, Any]], name: str) -> Optional[int]:
    values = [fact[name] for fact in facts if fact.get(name) is not None]
    return max(values, default=None)


def _iso(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat(timespec="milliseconds")
