"""Read all sweeps of an experiment on a site from their record files only, without Slurm, lease or plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hpcbench.collect.environment_columns import setup_columns
from hpcbench.collect.table import MetricColumn, metric_columns
from hpcbench.config.metrics import column_of
from hpcbench.core.record import Record, Work
from hpcbench.core.run_spec import SLURM_CONFIGURATIONS
from hpcbench.core.samples import SAMPLES
from hpcbench.errors import UserError
from hpcbench.store.records import best_attempt, first_record, in_order, read_records
from hpcbench.store.workspace import SweepPaths, Workspace
from hpcbench.util.bounded_read import content
from hpcbench.util.fast_json import decoded

Row = dict[Any, Any]
Report = Callable[[int, int], None]  # called with the number of sweeps read, and of all sweeps
_NO_RECORDS = "none of its lines is a record"
# Exceptions for files with content that hpcbench does not write.
_ODD = (LookupError, TypeError, ValueError, AttributeError)


class Head(NamedTuple):
    """A sweep, as described by its first record."""

    paths: SweepPaths
    experiment: str
    site: str
    started_at: str  # ISO 8601, UTC


@dataclass
class Past:
    """The data of several sweeps in the order of time, with a row per run, of its best attempt."""

    rows: list[Row] = field(default_factory=list)
    latest: dict[str, Record] = field(default_factory=dict)  # latest record by case
    metrics: dict[str, MetricColumn] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)  # reasons by sweep that could not be read
    damaged: list[str] = field(default_factory=list)  # damaged lines of record files


class Heads(NamedTuple):
    """The sweeps of a workspace with records, oldest first, and the reasons by sweep that could not be read."""

    found: list[Head]
    left_out: dict[str, str]


def heads(workspace: Workspace) -> Heads:
    """Return the sweeps of a workspace, each by its first record."""
    found, left_out = [], {}
    for folder in sorted((workspace.root / "results").glob("[!.]*/records")):
        paths = workspace.paths(folder.parent.name)
        record = first_record(paths)
        if record is None:  # no records yet, or damaged
            if any(folder.rglob("*.jsonl")):
                left_out[paths.name] = _NO_RECORDS
            continue
        fields = [str(record.get(name)) for name in ("experiment", "site", "started_at")]
        found.append(Head(paths, *fields))
    return Heads(sorted(found, key=lambda head: (head.started_at, head.paths.name)), left_out)


def read_past(sweeps: Sequence[Head], report: Report) -> Past:
    """Return the runs of these sweeps; sweeps that cannot be read are omitted, with reasons in `left_out`."""
    past = Past()
    for number, head in enumerate(sweeps):
        report(number, len(sweeps))
        try:
            _add(past, head)
        except UserError as error:
            past.left_out[head.paths.name] = error.what
    return past


def _add(past: Past, head: Head) -> None:
    read = read_records(head.paths, many=True)
    attempts: dict[tuple[str, int], list[Record]] = {}
    for made in read.records:
        attempts.setdefault((made.job, made.element), []).append(made)
    best = [record for each in attempts.values() if (record := best_attempt(in_order(each))) is not None]
    rows = [_row(record, head) for record in best]
    metrics = metric_columns(best)
    past.rows += rows
    past.metrics |= metrics
    past.latest |= {record.case_id: record for record in best}
    past.damaged += read.damaged


def _row(record: Record, head: Head) -> Row:
    """Return the columns of a run for a history; a full row of repetition_table is five times slower."""
    work = record.work
    return {
        "sweep": head.paths.name,
        "started_at": head.started_at,
        "case": record.case_id,
        "case_index": record.case_index,
        "run": record.run,
        "status": record.status,
        "error": record.error_message,
        "warnings": None,
        "interference": record.verdict,
        "items_per_step": work.items_per_step if work else None,
        "probed_steps": record.probe.steps if record.probe else None,
        "work": _work(work),
        "on_gpus": bool(record.parameters["gpus_per_task"]),
        "framework_version": record.framework_version,
        "nodes_used": ", ".join(sorted(node.hostname for node in record.nodes)) or None,
        **setup_columns(record),
        **{column_of(name, metric.unit): metric.value for name, metric in (record.metrics or {}).items()},
        SAMPLES: np.asarray(record.times_s, dtype=np.float64),
    }


def _work(work: Work | None) -> tuple[Any, ...]:
    """Return the properties of the workload that must agree between sweeps in addition to the case id."""
    return (work.parameter_count, work.flops_per_item, work.dtype, work.math_mode) if work else (None,) * 4


def drivers(paths: SweepPaths) -> tuple[str, ...]:
    """Return the sorted known versions of the GPU drivers on the nodes of a sweep."""
    files = (file for file in (paths.results / "nodes").glob("*/*.json") if file.parent.name != SLURM_CONFIGURATIONS)
    return tuple(sorted(set(_drivers(files))))


def _drivers(files: Iterable[Path]) -> Iterable[str]:
    for file in files:
        try:
            driver = decoded(content(file))["gpus"]["driver"]
        except (OSError, *_ODD):
            continue
        if isinstance(driver, str):
            yield driver
