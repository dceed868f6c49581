"""From what the ranks left behind to one record, appended by one writer: the job script, after its srun."""

import datetime
import json
import os
import shutil
from statistics import median
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from ...core import oom_pruning, redaction, status
from ...core.files import appending, write_all
from ...core.record import SCHEMA
from ...core.run_spec import PlannedRun
from . import monitor_summary
from .outcome import Ending, Outcome, conclude

TIMELINES = "timelines"  # the folder beside that of the records, with a file for each of theirs
_UNSEEN = monitor_summary.Seen()
_UNEQUAL = 0.1  # by which ranks that work alone may differ before it is told


class Place(NamedTuple):
    """Which repetition a record is of, and who ran it."""

    job: str
    element: int
    batch: str  # the sbatch that its job came from
    attempt: Optional[int]  # of this script; null where the job itself could not tell


def write(
    planned: PlannedRun, sweep: Dict[str, Any], place: Place, ending: Ending, scratch: str, path: str
) -> Dict[str, Any]:
    """Make the record, append it to `path`, remove `scratch`; return the record. Raises OSError on a full disk."""
    outcome = conclude(planned, sweep, read_ranks(scratch), ending, scratch)
    return write_outcome(planned, sweep, place, outcome, scratch, path, ending.elapsed_s)


def write_outcome(
    planned: PlannedRun,
    sweep: Dict[str, Any],
    place: Place,
    outcome: Outcome,
    scratch: str,
    path: str,
    elapsed_s: float = 0.0,
) -> Dict[str, Any]:
    """The same of a repetition whose outcome is known."""
    ranks = read_ranks(scratch)
    seen = monitor_summary.of_repetition(ranks, scratch, planned.on_gpus)
    record = without_secrets(assemble(planned, sweep, place, ranks, outcome, elapsed_s, os.environ, seen), os.environ)
    append(record, path)
    oom_pruning.note(planned, outcome.status, os.path.normpath(os.path.join(os.path.dirname(path), "..", "..")))
    monitor_summary.keep(scratch, timelines_beside(path))
    shutil.rmtree(scratch, ignore_errors=True)
    return record


def timelines_beside(path: str) -> str:
    """`results/SWEEP/timelines/BATCH/7_3.jsonl.gz` for the records in `results/SWEEP/records/BATCH/7_3.jsonl`."""
    folder, name = os.path.split(os.path.abspath(path))
    records, batch = os.path.split(folder)
    return os.path.join(os.path.dirname(records), TIMELINES, batch, name + ".gz")


def assemble(
    planned: PlannedRun,
    sweep: Dict[str, Any],
    place: Place,
    ranks: List[Dict[str, Any]],
    outcome: Outcome,
    elapsed_s: float,
    environment: Mapping[str, str],
    seen: monitor_summary.Seen = _UNSEEN,
) -> Dict[str, Any]:
    """The record of a repetition, whatever became of it. What was not measured is null."""
    facts = [rank["facts"] for rank in ranks if rank["facts"]]
    first = facts[0] if facts else {}
    completed = outcome.status == status.COMPLETED
    now = datetime.datetime.now(datetime.timezone.utc).timestamp()
    return {
        "schema": SCHEMA,
        "sweep": sweep["name"],
        "experiment": sweep["experiment"]["name"],
        "site": sweep["site"]["name"],
        "hpcbench_version": sweep["hpcbench_version"],
        "git": sweep["git"],
        **place._asdict(),
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
        "settings": first.get("settings"),
        "dynamic": first.get("dynamic"),
        "affinity": [fact.get("affinity") for fact in facts],
        "physical_cores": [fact.get("physical_cores") for fact in facts],
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
        "warnings": _warnings(facts, planned, completed),
        "slurm": redaction.slurm_facts(environment),
        "environment": _seen_by_worker(ranks) or redaction.allowed_variables(environment),
        "started_at": _iso(min((rank["started_at"] for rank in ranks), default=now - elapsed_s)),
        "ended_at": _iso(now),
    }


def without_secrets(record: Dict[str, Any], environment: Mapping[str, str]) -> Dict[str, Any]:
    """The record with secrets blotted out of all that came from outside; the plan's own words and Slurm's numbers, by
    which it is found again, stay as they are."""
    outside = {name: record[name] for name in ("error", "warnings", "environment")}
    outside["slurm"] = {name: value for name, value in record["slurm"].items() if not value.isdecimal()}
    blotted = redaction.redacted(outside, environment)
    return {**record, **blotted, "slurm": {**record["slurm"], **blotted["slurm"]}}


def _joint_samples(facts: List[Dict[str, Any]], planned: PlannedRun) -> Dict[str, Any]:
    """The samples of all ranks together.

    Ranks that wait for each other have done a step when the slowest has. Replicas that only infer do not wait, nor do
    instances: their rates add up, so a step of all of them takes the harmonic mean of their times.
    """
    samples: Dict[str, Any] = dict(facts[0]["samples"])
    columns = [fact["samples"]["times_s"] for fact in facts]
    if _work_alone(planned):
        samples["times_s"] = [_harmonic_mean(times) for times in zip(*columns)]
    else:
        samples["times_s"] = [max(times) for times in zip(*columns)]
    return samples


def _warnings(facts: List[Dict[str, Any]], planned: PlannedRun, completed: bool) -> List[str]:
    """Of all ranks, each once. Those that work alone take equally many steps: where they differ in speed, the slower
    ones have had the machine to themselves for a while."""
    warnings = {warning for fact in facts for warning in fact["warnings"]}
    if completed and _work_alone(planned):
        medians = [median(fact["samples"]["times_s"] or [0.0]) for fact in facts]
        slower = max(medians) / min(medians) - 1 if min(medians) > 0 else 0.0
        if slower > _UNEQUAL:  # by how much differs from repetition to repetition, and would be told of each
            told = "the slowest rank takes over %.0f %% longer for a step than the fastest" % (100 * _UNEQUAL)
            warnings.add("%s, and has had the machine to itself at last: the throughput is a bit too high" % told)
    return sorted(warnings)


def _work_alone(planned: PlannedRun) -> bool:
    """Whether ranks need nothing of each other."""
    if planned.instances > 1:
        return True
    if planned.is_command or planned.parameters["task"] != "inference":
        return False
    from ...core.frameworks import SHARDED

    return planned.parameters["strategy"] not in SHARDED


def _harmonic_mean(times_s: Sequence[float]) -> float:
    """0 where one of them is: a step that is shorter than the clock can tell has a rate beyond all others."""
    return len(times_s) / sum(1 / time_s for time_s in times_s) if all(times_s) else 0.0


def append(record: Dict[str, Any], path: str) -> None:
    """Add one line to a record file, durably, and whole or not at all."""
    append_all([record], path)


def append_all(records: List[Dict[str, Any]], path: str) -> None:
    """The same with a line for each of these."""
    lines = "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records).encode()
    with appending(path) as handle:
        size = os.fstat(handle).st_size
        if size and os.pread(handle, 1, size - 1) != b"\n":  # a line that an earlier death cut off
            lines = b"\n" + lines
        write_all(handle, lines)
        os.fsync(handle)


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


def _distinct(nodes: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    return list({node["hostname"]: node for node in nodes}.values())


def _largest(facts: List[Dict[str, Any]], name: str) -> Optional[int]:
    values = [fact[name] for fact in facts if fact.get(name) is not None]
    return max(values, default=None)


def _iso(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat(timespec="milliseconds")
