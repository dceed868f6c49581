"""From records to tidy tables: one row per repetition, or one per sample."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.collect import resource_usage
from hpcbench.collect.energy import energy_columns
from hpcbench.collect.environment_columns import setup_columns
from hpcbench.config.metrics import column_of
from hpcbench.config.parameters import NAMES, TAG, Parameters
from hpcbench.core.frameworks import SETTING_NAMES, SETTINGS, THREAD_COUNTS
from hpcbench.core.samples import SAMPLES
from hpcbench.store.records import Record, disturbed_by, has_log
from hpcbench.store.workspace import SweepPaths, log_name

PARAMETERS = [
    "framework",
    "framework_version",
    "model",
    "model_options",
    "command",
    "task",
    "strategy",
    "device",
    "dtype",
    "execution",
    "batch_size",
    "learning_rate",
    "data",
    "held_out",
    "target_accuracy",
    "max_epochs",
    "nodes",
    "tasks_per_node",
    "cpus_per_task",
    "gpus_per_task",
    *SETTING_NAMES,
    "oversubscribe",
    "seed",
    "environment",
]
_WHOLE = [
    *THREAD_COUNTS,
    *(f"effective_{name}" for name in THREAD_COUNTS),
    *("parameter_count", "flops_per_item", "items_per_step", "peak_memory_bytes", "peak_device_bytes"),
    *("physical_cores_per_task", "attempt", "attempts", "steps_per_sample", "warmup_steps", "epochs"),
    "items_per_epoch",
]
_EFFECTIVE = {f"effective_{each.name}": each.effective for each in SETTINGS if each.effective}
LARGEST_EXACT = 2**53  # in the numbers of floating point that pandas makes of whole ones

# What a plain user gets: records of versions that had no such parameter do not say it.
_PLAIN = {name: Parameters.model_fields[name].default for name in ("instances", "oversubscribe")}

if missing := NAMES - set(PARAMETERS):
    raise AssertionError(f"parameters without a column: {sorted(missing)}")


def repetition_table(records: list[Record]) -> pd.DataFrame:
    """One row per record, its samples as an array of seconds in the column `times_s`."""
    rows = [_row(record) for record in records]
    frame = pd.DataFrame(rows)
    for column in _WHOLE:  # from the rows: beside a null, the frame holds numbers as floats already
        frame[column] = pd.array([row[column] for row in rows], dtype="Int64")
    for column in [*PARAMETERS, *(name for name in map(str, frame) if name.startswith(TAG))]:
        values = [row.get(column) for row in rows]  # sweeps have tags of their own
        if {type(value) for value in values if value is not None} == {int}:
            frame[column] = _whole_numbers(values)
    return frame


def _whole_numbers(values: list[int | None]) -> Any:
    """As text where one is too large for all the ways that a number takes through a table."""
    if any(value is not None and abs(value) > LARGEST_EXACT for value in values):
        return [None if value is None else str(value) for value in values]
    return pd.array(values, dtype="Int64")


def sample_table(repetitions: pd.DataFrame) -> pd.DataFrame:
    """One row per sample of the completed repetitions, numbered from 0 in the order of time."""
    keys = ["sweep", "case", "repetition"]
    filled = repetitions[repetitions[SAMPLES].map(len) > 0]
    frame = filled[[*keys, *PARAMETERS, SAMPLES]].explode(SAMPLES, ignore_index=True)
    frame = frame.rename(columns={SAMPLES: "time_s"}).astype({"time_s": "float64"})
    frame.insert(3, "sample", frame.groupby(keys, sort=False).cumcount())
    return frame


def _threads_kept(record: Record) -> dict[str, Any]:
    dynamic = record.get("dynamic") or {}
    return {
        "threads_kept": dynamic.get("answer"),
        "threads_kept_why": dynamic.get("why"),
        "threads_search_s": dynamic.get("profile_s"),
    }


def _row(record: Record) -> dict[str, Any]:
    parameters, work, samples = record["parameters"], record["work"] or {}, record["samples"] or {}
    error, learning, interference = (record[name] or {} for name in ("error", "learning", "interference"))
    row: dict[str, Any] = {
        "sweep": record["sweep"],
        "case": record["case_id"],
        "case_index": record["case_index"],
        "experiment": record["experiment"],
        "site": record["site"],
        "repetition": record["repetition"],
        "attempt": record["attempt"],
        "attempts": record.get("attempts"),
        "status": record["status"],
        **{name: parameters.get(name, _PLAIN.get(name)) for name in PARAMETERS},
        "framework_version": record["framework_version"],
        "model_options": _options(parameters["model_options"]),
        "dtype": work.get("dtype", parameters.get("dtype")),
        "data": _source(parameters["data"]),
        "steps_per_sample": samples.get("steps_per_sample"),
        "warmup_steps": samples.get("warmup_steps"),
        "steady": samples.get("steady"),
        "drift": samples.get("drift"),
        "stopped": samples.get("stopped"),
        "interference": interference.get("verdict"),
        "disturbed_by": disturbed_by(record),
        "first_step_s": samples.get("first_step_s"),
        "compile_s": _compile_s(record),
        "import_s": record["import_s"],
        "build_s": record["build_s"],
        **{column: (record.get(section) or {}).get(key) for column, (section, key) in _EFFECTIVE.items()},
        **_threads_kept(record),
        "physical_cores_per_task": _of_each_task(record.get("physical_cores")),
        "parameter_count": work.get("parameter_count"),
        "flops_per_item": work.get("flops_per_item"),
        "items_per_step": work.get("items_per_step"),
        "items_per_epoch": work.get("items_per_epoch"),
        "input_shape": json.dumps(work["input_shape"]) if work else None,
        "math_mode": work.get("math_mode"),
        "peak_memory_bytes": record["peak_memory_bytes"],
        "peak_device_bytes": record["peak_device_bytes"],
        **energy_columns(record),
        **{name: record.get(name) for name in resource_usage.COLUMNS},  # not in the record as the node writes it
        "epochs": learning.get("epochs"),
        "accuracy": learning.get("accuracy"),
        "nodes_used": ",".join(node["hostname"] for node in record["nodes"]) or None,
        **setup_columns(record),
        "job_id": _job_id(record["slurm"]),
        "started_at": record["started_at"],
        "ended_at": record["ended_at"],
        "warnings": "; ".join(record["warnings"]) or None,
        "log": _log(record) if record["ended_at"] and has_log(record) else None,
        "error": error.get("message"),
    }
    row.update({f"{TAG}{name}": value for name, value in record["tags"].items()})
    row.update({column_of(name, found["unit"]): found["value"] for name, found in _metrics(record).items()})
    row[SAMPLES] = np.asarray(samples.get(SAMPLES, ()), dtype=np.float64)
    return row


def _of_each_task(values: list[int | None] | None) -> int | None:
    """What all tasks have; None where they differ. Nodes of earlier versions do not tell."""
    distinct = set(values or ())
    return distinct.pop() if len(distinct) == 1 else None


def _compile_s(record: Record) -> float | None:
    """What the first step took beyond a usual one, where the execution traces or compiles it.

    None where no step was measured: the one sample of a training to an accuracy is all of it.
    """
    samples, execution = record["samples"], record["parameters"].get("execution")
    if not samples or samples["first_step_s"] is None or record["learning"] or execution in (None, "eager"):
        return None
    steps = np.asarray(samples[SAMPLES], dtype=np.float64)
    steps = steps[np.isfinite(steps)]
    return max(0.0, float(samples["first_step_s"]) - float(np.median(steps))) if steps.size else None


def _source(data: dict[str, str | None] | None) -> str | None:
    """`npz:digits.npz`."""
    given = [f"{kind}:{path}" for kind, path in (data or {}).items() if path]
    return given[0] if given else None


def _options(options: dict[str, Any] | None) -> str | None:
    return None if options is None else json.dumps(options, sort_keys=True)


@dataclass(frozen=True)
class MetricColumn:
    """What a column of a table holds: a metric of commands. `better` is higher, lower, or None: it was never said."""

    name: str
    unit: str
    better: str | None
    reduce: str | None = None

    @property
    def averages_rates(self) -> bool:
        """Whether it is the arithmetic mean of rates, which is not the rate of the whole."""
        return self.reduce == "mean" and self.unit.endswith("/s")


def metric_columns(records: list[Record]) -> dict[str, MetricColumn]:
    """The metrics that the records hold, by their columns."""
    return {
        column_of(name, found["unit"]): MetricColumn(name, found["unit"], found["better"], found.get("reduce"))
        for record in records
        for name, found in _metrics(record).items()
    }


def _metrics(record: Record) -> dict[str, Any]:
    return record["metrics"] or {}


def _log(record: Record) -> str:
    """What the job printed, from the folder of the workspace."""
    folder = _log_folder(record["sweep"], record["batch"])
    array = record["slurm"].get("array_job_id")
    return f"{folder}/{log_name(record['slurm']['array_task_id'] if array else record['element'], array)}"


@lru_cache  # joining the parts of a path takes longer than all else that is done for a row
def _log_folder(sweep: str, batch: str) -> str:
    return str(SweepPaths(sweep, Path("jobs") / sweep, Path()).logs(batch))


def _job_id(slurm: dict[str, str]) -> str | None:
    if "array_job_id" in slurm:
        return f"{slurm['array_job_id']}_{slurm.get('array_task_id', '')}"
    return slurm.get("job_id")
