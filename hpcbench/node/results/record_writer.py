"""Build the record of a run from the files of its ranks, and append it. The only writer is the driver of the job."""

import contextlib
import datetime
import json
import os
import shutil
import time
from dataclasses import replace
from statistics import median
from typing import Any, Dict, List, Mapping, Optional, Set, Type, TypeVar

from ...core import redaction, status
from ...core.files import append_lines
from ...core.record import SCHEMA, Error, Git, MetricValue, Node, RankEnd, Record, RecordKey, Threads, Work
from ...core.run_spec import PlannedRun
from ...core.samples import Samples, harmonic_mean
from ...core.start_rules import oom_pruning
from ...core.training.communication import Communication
from ...core.training.learning import Learning
from ...core.training.page_cache import PageCache
from ...core.training.saved_activations import SavedActivations
from ...core.training.trajectory import Trajectory
from ...core.typed_json import InvalidError, from_json, to_json
from ...core.validation.result import Validation
from ...core.variables import performance
from . import kept_output, monitor_summary, operator_rows, trained_models, trajectory_file
from .outcome import Outcome, not_evaluated

TIMELINES = "timelines"  # folder next to that of the records, with one file per file of records
_NOT_MONITORED = monitor_summary.Monitored()
_UNEQUAL = 0.1  # relative difference in speed between independent ranks that causes a warning
_NO_RANK = (ValueError, LookupError, TypeError, AttributeError)  # raised for JSON that is not of a rank
_Part = TypeVar("_Part")
_OF_FACTS: Dict[str, Any] = {
    "measurements": Samples,
    "learning": Learning,
    "validation": Validation,
    "communication": Communication,
    "work": Work,
    "saved_activations": SavedActivations,
    "page_cache": PageCache,
    "trajectory": Trajectory,
    "threads": Threads,
    "error": Error,
}


def write(
    planned: PlannedRun,
    sweep: Dict[str, Any],
    key: RecordKey,
    outcome: Outcome,
    ranks: List[Dict[str, Any]],
    scratch: str,
    path: str,
    elapsed_s: float = 0.0,
) -> Record:
    """Append the record of a run to `path`, and return it. Raise OSError on a full disk.

    Remove `scratch`, the folder with the files of its ranks, unless it has the only copy of a profile or a trajectory.
    """
    ranks = outcome.steps.in_facts(ranks) if outcome.steps else ranks
    monitored = monitor_summary.of_run(ranks, scratch, planned.on_gpus)
    made = assemble(planned, sweep, key, ranks, outcome, elapsed_s, os.environ, monitored)
    record = without_secrets(made, os.environ)
    kept = operator_rows.keep(record, ranks, scratch, path), trajectory_file.keep(record, scratch, path)
    append(record, path)
    oom_pruning.note(planned, outcome.status, os.path.normpath(os.path.join(os.path.dirname(path), "..", "..")))
    monitor_summary.keep(scratch, timelines_beside(path))
    kept_output.keep(planned, record, sweep["experiment"], ranks, scratch, path)
    if all(kept):
        shutil.rmtree(scratch, ignore_errors=True)
    return record


def timelines_beside(path: str) -> str:
    """Return SWEEP/timelines/BATCH/7_3.jsonl.gz for records in SWEEP/records/BATCH/7_3.jsonl."""
    return kept_output.beside(path, TIMELINES, ".jsonl.gz")


def assemble(
    planned: PlannedRun,
    sweep: Dict[str, Any],
    key: RecordKey,
    ranks: List[Dict[str, Any]],
    outcome: Outcome,
    elapsed_s: float,
    environment: Mapping[str, str],
    monitored: monitor_summary.Monitored = _NOT_MONITORED,
) -> Record:
    """Return the record of a run from the files of its ranks, for any outcome; without these if they are not valid."""
    try:
        return _assembled(planned, sweep, key, ranks, outcome, elapsed_s, environment, monitored)
    except Exception as error:
        if not ranks:
            raise
        known = not_evaluated(error) if outcome.status == status.COMPLETED else outcome
        return _assembled(planned, sweep, key, [], known, elapsed_s, environment, _NOT_MONITORED)


def _assembled(
    planned: PlannedRun,
    sweep: Dict[str, Any],
    key: RecordKey,
    ranks: List[Dict[str, Any]],
    outcome: Outcome,
    elapsed_s: float,
    environment: Mapping[str, str],
    monitored: monitor_summary.Monitored,
) -> Record:
    facts = [rank["facts"] for rank in ranks if rank["facts"]]
    measured = outcome.status == status.COMPLETED or outcome.is_unexpected
    now = time.time()
    variables = _seen_by_worker(ranks) or performance.allowed_variables(environment)
    outside = _from_outside(ranks, sweep, key, variables)
    return Record(
        schema=SCHEMA,
        **_origin(sweep),
        **key._asdict(),
        **{name: getattr(planned, name) for name in _PLANNED},
        status=outcome.status,
        error=_part(Error, outcome.error),
        measurements=_joint_samples(facts, planned) if measured else None,
        interference=monitored.interference if measured else None,
        monitors=monitored.nodes if measured else [],
        metrics=_metrics(outcome.metrics),
        probe=outcome.steps.probe if outcome.steps else None,
        **_of_first_rank(facts[0] if facts else {}),
        **trained_models.trainings(planned, facts)._asdict(),
        affinity=[fact.get("affinity") for fact in facts],
        physical_cores=[fact.get("physical_cores") for fact in facts],
        peak_memory_bytes=_largest(facts, "peak_memory_bytes"),
        peak_device_bytes=_largest(facts, "peak_device_bytes"),
        nodes=[from_json(Node, node) for node in _distinct([rank["node"] for rank in ranks])],
        ranks=[_rank_end(rank) for rank in ranks],
        warnings=sorted(
            {
                *_warnings(facts, planned, measured),
                *outcome.warnings,
                *monitored.warnings,
                *(warning for rank in ranks for warning in rank.get("warnings", ())),
                *([performance.warning(outside)] if outside else []),
            }
        ),
        slurm=redaction.slurm_facts(environment),
        environment=variables,
        outside=outside,
        started_at=_iso(min((rank["started_at"] for rank in ranks), default=now - elapsed_s)),
        ended_at=_iso(now),
    )


_PLANNED = ("case_id", "case_index", "run", "order", "parameters", "user_parameters", "measure")
_VERBATIM = (
    *("settings", "dynamic", "weights_crc32", "import_s", "build_s"),
    *("python", "executable", "packages", "framework_version", "gpus"),
)


def _origin(sweep: Dict[str, Any]) -> Dict[str, Any]:
    return {
        "sweep": sweep["name"],
        "experiment": sweep["experiment"]["name"],
        "site": sweep["site"]["name"],
        "hpcbench_version": sweep["hpcbench_version"],
        "git": _part(Git, sweep["git"]),
    }


def _of_first_rank(facts: Dict[str, Any]) -> Dict[str, Any]:
    return {
        **{name: facts.get(name) for name in _VERBATIM},
        "validation": _part(Validation, facts.get("validation")),
        "communication": _part(Communication, facts.get("communication")),
        "work": _part(Work, facts.get("work")),
        "saved_activations": _part(SavedActivations, facts.get("saved_activations")),
        "page_cache": _part(PageCache, facts.get("page_cache")),
        "threads": _part(Threads, facts.get("threads")),
        "trajectory": _part(Trajectory, facts.get("trajectory")),
    }


def _part(kind: Type[_Part], data: Optional[Dict[str, Any]]) -> Optional[_Part]:
    return None if data is None else from_json(kind, data)


def _metrics(found: Optional[Dict[str, Any]]) -> Optional[Dict[str, MetricValue]]:
    return None if found is None else {name: from_json(MetricValue, metric) for name, metric in found.items()}


def without_secrets(record: Record, environment: Mapping[str, str]) -> Record:
    """Return the record with secrets redacted in everything that came from outside.

    The plan and Slurm's numbers are not changed, because they identify the record.
    """
    outside = {
        "error": to_json(record.error),
        "warnings": record.warnings,
        "environment": record.environment,
        "outside": record.outside,
        "slurm": {name: value for name, value in record.slurm.items() if not value.isdecimal()},
    }
    redacted = redaction.redacted(outside, environment)
    if record.metrics is not None:  # a reason quotes the searched output
        redacted["metrics"] = {
            name: replace(metric, reason=redaction.redacted(metric.reason, environment))
            for name, metric in record.metrics.items()
        }
    redacted.update(error=_part(Error, redacted["error"]), slurm={**record.slurm, **redacted["slurm"]})
    return replace(record, **redacted)


def _joint_samples(facts: List[Dict[str, Any]], planned: PlannedRun) -> Samples:
    """Return the measurements of all ranks together.

    Ranks that synchronize finish a step with the slowest of them. Inference replicas and instances are independent:
    their rates add up, so a joint step takes the harmonic mean of their times.
    """
    columns = [fact["measurements"]["times_s"] for fact in facts]
    joint = harmonic_mean if _work_alone(planned) else max
    return replace(from_json(Samples, facts[0]["measurements"]), times_s=[joint(times) for times in zip(*columns)])


def _warnings(facts: List[Dict[str, Any]], planned: PlannedRun, measured: bool) -> Set[str]:
    """Return the warnings of all ranks, each once.

    Independent ranks take the same number of steps: if they differ in speed, the slower ones run alone at the end.
    """
    warnings = {warning for fact in facts for warning in fact["warnings"]}
    if measured and _work_alone(planned):
        medians = [median(fact["measurements"]["times_s"] or [0.0]) for fact in facts]
        slower = max(medians) / min(medians) - 1 if min(medians) > 0 else 0.0
        if slower > _UNEQUAL:  # without the exact excess, which would make the warnings of runs differ
            message = "the step time of the slowest rank is over %.0f %% longer than that of the fastest" % (
                100 * _UNEQUAL
            )
            warnings.add("%s, and ran alone at the end: the throughput is slightly overestimated" % message)
    return warnings


def _work_alone(planned: PlannedRun) -> bool:
    """Return whether ranks take steps without communication. Trainings of several models measure a common time."""
    if planned.is_command:
        return False
    from ...core.frameworks import FORWARD_TASKS, SHARDED, STEP_TASKS

    task = planned.parameters["task"]
    if planned.instances > 1:
        return task in STEP_TASKS
    return task in FORWARD_TASKS and planned.parameters["strategy"] not in SHARDED


def append(record: Record, path: str) -> None:
    """Append a record to a file as one line, durably and atomically. Raise OSError on a full disk."""
    append_all([record], path)


def append_all(records: List[Record], path: str) -> None:
    """Append records to a file as one line each, durably, and all or none of them. Raise OSError on a full disk."""
    lines = "".join(json.dumps(to_json(record), separators=(",", ":")) + "\n" for record in records).encode()
    append_lines(path, lines)


def read_ranks(scratch: str) -> List[Dict[str, Any]]:
    """Return the content of the files that the supervisors of a run wrote to its scratch folder, by rank.

    A rank whose result does not have the types of a record counts as failed, with the name of the field in its error. A
    file without JSON of a rank counts as missing: its node may have failed before the file system had its content.
    """
    ranks = []
    for name in os.listdir(scratch) if os.path.isdir(scratch) else []:
        if name.endswith(".json"):
            with open(os.path.join(scratch, name), encoding="utf-8") as file, contextlib.suppress(*_NO_RANK):
                ranks.append(_checked(json.load(file)))
    return sorted(ranks, key=lambda rank: int(rank["rank"]))


def _checked(rank: Dict[str, Any]) -> Dict[str, Any]:
    int(rank["rank"])
    facts = rank["facts"] or {}
    try:
        for name, kind in _OF_FACTS.items():
            if facts.get(name) is not None:
                from_json(kind, facts[name], name)
    except InvalidError as error:
        message = "the result of rank %d is invalid: %s" % (rank["rank"], error)
        failed = {"type": "result", "message": message, "last_lines": []}
        return {**rank, "facts": {"status": status.FAILED, "warnings": [], "error": failed}}
    return rank


def _seen_by_worker(ranks: List[Dict[str, Any]]) -> Dict[str, str]:
    """Return the variables of rank 0, which differ from the script's if a container sets its own."""
    seen: Dict[str, str] = ranks[0].get("environment", {}) if ranks else {}
    return seen


def _from_outside(
    ranks: List[Dict[str, Any]], sweep: Dict[str, Any], key: RecordKey, variables: Mapping[str, str]
) -> Dict[str, str]:
    """Return the variables of rank 0 that change a measurement, and that no parameter, `env` or `setup` has set."""
    names = ranks[0].get("outside", []) if ranks else []
    if not names:
        return {}
    environment = sweep["jobs"][key.job]["environment"]
    declared = sweep["site"]["environments"].get(environment, {}).get("env", {})
    return {name: variables[name] for name in names if name in variables and name not in declared}


def _rank_end(rank: Dict[str, Any]) -> RankEnd:
    facts = rank["facts"] or {}
    copied = {name: rank[name] for name in ("rank", "host", "exit_code", "signal", "stopped_by")}
    return RankEnd(**copied, ended_at=_iso(rank["ended_at"]), status=facts.get("status"), gpus=facts.get("gpus"))


def _distinct(nodes: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    return list({node["hostname"]: node for node in nodes}.values())


def _largest(facts: List[Dict[str, Any]], name: str) -> Optional[int]:
    values = [fact[name] for fact in facts if fact.get(name) is not None]
    return max(values, default=None)


def _iso(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).isoformat(timespec="milliseconds")
