"""Tidy tables from records, with a row per run or per measurement."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.collect.class_bias import class_bias_columns
from hpcbench.collect.energy import MEASURED, energy_columns
from hpcbench.collect.environment_columns import setup_columns
from hpcbench.collect.gpu_clock import CLOCK, gpu_clock_mhz
from hpcbench.collect.training_columns import MODELS, TRAINED, training_columns
from hpcbench.config.metrics import column_of
from hpcbench.config.names import USER_PARAMETER
from hpcbench.core.frameworks import SETTING_NAMES, SETTINGS, THREAD_COUNTS
from hpcbench.core.record import Record
from hpcbench.core.record_field import columns, values_at
from hpcbench.core.samples import SAMPLES
from hpcbench.models import inputs, optimizers, schedules
from hpcbench.store.records import has_log, interference_causes, is_throttled
from hpcbench.store.run_record import RunRecord
from hpcbench.store.workspace import SweepPaths, log_name

PARAMETERS = [
    "framework",
    "framework_version",
    "model",
    "model_options",
    "input",
    "loss_function",
    "step",
    "weights",
    "command",
    "task",
    "operator",
    "phase",
    "sizes",
    "validate",
    "strategy",
    "averaging_period",
    "device",
    "dtype",
    "execution",
    "batch_size",
    "optimizer",
    "learning_rate",
    "gradient_accumulation_steps",
    "data",
    "held_out",
    "target_accuracy",
    "max_epochs",
    "page_cache",
    "nodes",
    "tasks_per_node",
    "cpus_per_task",
    "gpus_per_task",
    "launch",
    *SETTING_NAMES,
    "oversubscribe",
    "seed",
    "environment",
]
# Settings that are read back as effective; thread counts are separate fields of records.
_EFFECTIVE = {each.name: each.effective[1] for each in SETTINGS if each.effective and each.effective[0] == "settings"}
LARGEST_EXACT = 2**53  # largest integer that is exact in float64, as pandas may convert it

RECORD_COLUMNS = tuple(columns(RunRecord))  # columns that are fields of a record
_WHOLE = [column.name for column in RECORD_COLUMNS if column.is_nullable_int]
_WHOLE += [*THREAD_COUNTS, "physical_cores_per_task", MODELS, TRAINED]


def repetition_table(records: Sequence[Record]) -> pd.DataFrame:
    """Return a table with one row per record; the column `times_s` holds arrays of measurements in seconds."""
    found = _columns(records)
    for name in _WHOLE:  # pandas would convert integers to floats if a value is missing
        found[name] = pd.array(found[name], dtype="Int64")
    for name in [*PARAMETERS, *(name for name in found if name.startswith(USER_PARAMETER))]:
        if {type(value) for value in found[name] if value is not None} == {int}:
            found[name] = _whole_numbers(found[name])
    return pd.DataFrame(found)


def identifying_columns(table: pd.DataFrame) -> list[str]:
    """Return the columns that may identify the cases of a sweep: the parameters and the user parameters."""
    return [*PARAMETERS, *(name for name in table.columns if name.startswith(USER_PARAMETER))]


def _whole_numbers(values: list[int | None]) -> Any:
    """Return integers as a nullable array, or as text if one exceeds LARGEST_EXACT."""
    if any(value is not None and abs(value) > LARGEST_EXACT for value in values):
        return [None if value is None else str(value) for value in values]
    return pd.array(values, dtype="Int64")


def sample_table(repetitions: pd.DataFrame) -> pd.DataFrame:
    """Return a table with one row per measurement, in s, numbered from 0 within a run in the order of time."""
    keys = ["sweep", "case", "run"]
    filled = repetitions[repetitions[SAMPLES].map(len) > 0]
    frame = filled[[*keys, *PARAMETERS, SAMPLES]].explode(SAMPLES, ignore_index=True)
    frame = frame.rename(columns={SAMPLES: "time_s"}).astype({"time_s": "float64"})
    frame.insert(3, "measurement", frame.groupby(keys, sort=False).cumcount())
    return frame


def _columns(records: Sequence[Record]) -> dict[str, Any]:
    """Return the values of each column, since pandas is slower with rows."""
    rows = [_row(record) for record in records]
    names = dict.fromkeys(chain.from_iterable(rows))  # user parameters and metrics differ between sweeps
    return {
        **{column.name: values_at(records, column.path) for column in RECORD_COLUMNS},
        **{name: [row.get(name) for row in rows] for name in names},
    }


def _row(record: Record) -> dict[str, Any]:
    """Return the columns that are computed from a record, in addition to RECORD_COLUMNS."""
    energy = energy_columns(record)
    return {
        **_parameters(record),
        **_thread_search(record),
        **{f"effective_{name}": (record.settings or {}).get(key) for name, key in _EFFECTIVE.items()},
        "interference_causes": interference_causes(record),
        "throttled": is_throttled(record),
        **_of_curve(record),
        "compile_s": _compile_s(record),
        "physical_cores_per_task": _of_each_task(record.physical_cores),
        "input_shapes": json.dumps(record.work.input_shapes) if record.work and record.work.input_shapes else None,
        **energy,
        CLOCK: gpu_clock_mhz(record),
        **training_columns(record, energy[MEASURED]),
        **class_bias_columns(record),
        "nodes_used": ",".join(node.hostname for node in record.nodes) or None,
        **setup_columns(record),
        "job_id": _job_id(record.slurm),
        "started_at": record.started_at or None,
        "ended_at": record.ended_at or None,
        "metrics_not_found": ", ".join(record.metrics_not_found) or None,
        "metrics_not_found_reason": "; ".join(record.metrics_not_found.values()) or None,
        "warnings": "; ".join(record.warnings) or None,
        "log": _log(record) if record.ended_at and has_log(record) else None,
        **{f"{USER_PARAMETER}{name}": value for name, value in record.user_parameters.items()},
        **{column_of(name, metric.unit): metric.value for name, metric in (record.metrics or {}).items()},
        SAMPLES: np.asarray(record.times_s, dtype=np.float64),
    }


def _parameters(record: Record) -> dict[str, Any]:
    """Return the parameters of a record, with the effective dtype if it is known."""
    parameters = record.parameters
    return {
        **{name: parameters.get(name) for name in PARAMETERS},
        "framework_version": record.framework_version,
        "model_options": _options(parameters["model_options"]),
        "sizes": _options(parameters.get("sizes")),
        "input": inputs.in_short(parameters.get("input")),
        **_optimizer(parameters.get("optimizer")),
        "dtype": record.work.dtype if record.work else parameters.get("dtype"),
        "data": _source(parameters["data"]),
    }


def _thread_search(record: Record) -> dict[str, Any]:
    search = record.dynamic or {}
    return {
        "threads_kept": search.get("answer"),
        "threads_kept_why": search.get("why"),
        "threads_search_s": search.get("profile_s"),
    }


def _of_each_task(values: Sequence[int | None]) -> int | None:
    """Return the common value of all tasks; None if they differ."""
    distinct = set(values)
    return distinct.pop() if len(distinct) == 1 else None


def _compile_s(record: Record) -> float | None:
    """Return by how many seconds the first step exceeds the median; None if nothing is compiled or without steps."""
    samples, execution = record.measurements, record.parameters.get("execution")
    if not samples or samples.first_step_s is None or record.learning or execution in (None, "eager"):
        return None
    steps = np.asarray(samples.times_s, dtype=np.float64)
    steps = steps[np.isfinite(steps)]
    return max(0.0, float(samples.first_step_s) - float(np.median(steps))) if steps.size else None


def _of_curve(record: Record) -> dict[str, float | None]:
    """Return the best accuracy after any epoch, and loss and accuracy of training; None without a curve."""
    curve = record.learning.curve if record.learning else ()
    losses = [epoch.loss for epoch in curve if epoch.loss is not None]
    accuracies = [epoch.training_accuracy for epoch in curve if epoch.training_accuracy is not None]
    return {
        "best_accuracy": max((epoch.accuracy for epoch in curve), default=None),
        "training_loss": losses[-1] if losses else None,
        "best_training_loss": min(losses, default=None),
        "training_accuracy": accuracies[-1] if accuracies else None,
        "best_training_accuracy": max(accuracies, default=None),
    }


def _source(data: dict[str, str | None] | None) -> str | None:
    """Return the kind and path of the data, e.g. `npz:digits.npz`; None without data files."""
    given = [f"{kind}:{path}" for kind, path in (data or {}).items() if path]
    return given[0] if given else None


def _optimizer(options: dict[str, Any] | None) -> dict[str, Any]:
    """Return the optimizer, as its name if its other options are the defaults, and its learning rate or schedule."""
    if options is None:
        return {}
    return {
        "optimizer": optimizers.in_short(options, *optimizers.OWN_COLUMNS),
        "learning_rate": schedules.in_short(options["learning_rate"]),
        "gradient_accumulation_steps": options["gradient_accumulation_steps"],
    }


def _options(options: dict[str, Any] | None) -> str | None:
    return None if options is None else json.dumps(options, sort_keys=True)


@dataclass(frozen=True)
class MetricColumn:
    """The metric of commands in a column of a table. `better` is higher, lower, or None if it is not configured."""

    name: str
    unit: str
    better: str | None
    reduce: str | None = None

    @property
    def averages_rates(self) -> bool:
        """Return whether a metric is an arithmetic mean of rates, which differs from total work over total time."""
        return self.reduce == "mean" and self.unit.endswith("/s")


def metric_columns(records: Iterable[Record]) -> dict[str, MetricColumn]:
    """Return the metrics of the records, by column."""
    return {
        column_of(name, metric.unit): MetricColumn(name, metric.unit, metric.better, metric.reduce)
        for record in records
        for name, metric in (record.metrics or {}).items()
    }


def _log(record: Record) -> str:
    """Return the path of the job's log, relative to the workspace."""
    folder = _log_folder(record.sweep, record.batch)
    array = record.slurm.get("array_job_id")
    return f"{folder}/{log_name(record.slurm['array_task_id'] if array else record.element, array)}"


@lru_cache  # path operations would dominate the time of a row
def _log_folder(sweep: str, batch: str) -> str:
    return str(SweepPaths(sweep, Path("jobs") / sweep, Path()).logs(batch))


def _job_id(slurm: Mapping[str, str]) -> str | None:
    if "array_job_id" in slurm:
        return f"{slurm['array_job_id']}_{slurm.get('array_task_id', '')}"
    return slurm.get("job_id")
