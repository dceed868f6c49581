"""The table of operators: one row per operator, device state and run, with power, energy and environment."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pandas as pd

from hpcbench.collect.power.profile_windows import (
    GpuFacts,
    WindowReadings,
    gpu_facts,
    has_readings,
    readings,
    reason_of_run,
    without_power,
)
from hpcbench.collect.power.timelines import timelines_of
from hpcbench.collect.profiles.columns import columns
from hpcbench.collect.profiles.lines import read_profiles
from hpcbench.core.profiling.device_state import OPERATOR, STATE
from hpcbench.core.profiling.operator_row import IDLE, NO_WINDOW, OperatorLine
from hpcbench.core.record import Record
from hpcbench.core.typed_json import to_json
from hpcbench.core.variables import performance
from hpcbench.store.workspace import SweepPaths

KEY = ("sweep", "case", "run", "attempt", *OPERATOR, *STATE)


class OperatorTable(NamedTuple):
    """The table of the operators of a sweep, and the lines that could not be read, as FILE:LINE (ERROR)."""

    frame: pd.DataFrame
    damaged: Sequence[str]


class _Profile(NamedTuple):
    """The operators of a run with the readings in their power windows, and facts of its GPU."""

    record: Record
    lines: Sequence[OperatorLine]
    windows: Sequence[WindowReadings]
    gpu: GpuFacts = GpuFacts()


def operator_table(paths: SweepPaths, records: Sequence[Record]) -> OperatorTable:
    """Return the operators of the records of a sweep, with the columns of `columns`; empty without a profile."""
    found = read_profiles(paths, records)
    lines = {id(records[place]): its for place, its in found.rows.items()}
    profiled = [record for record in records if id(record) in lines]
    profiles = {
        id(record): _Profile(record, lines[id(record)], _without_timeline(record, lines[id(record)]))
        for record in profiled
    }
    for record, run in timelines_of(paths, profiled):
        own, timeline = lines[id(record)], run[record.ranks[0].host]
        if any(has_readings(line.row) for line in own):
            windows = [readings(record, timeline, line.row, _no_window(record, own, line)) for line in own]
            profiles[id(record)] = _Profile(record, own, windows, gpu_facts(timeline))
    return OperatorTable(_frame(row for profile in profiles.values() for row in _rows(profile)), found.damaged)


def merged(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Return the tables of several sweeps as one; a row that is in several of them is there once."""
    known = [frame for frame in frames if len(frame)]
    if not known:
        return _frame(())
    return pd.concat(known, ignore_index=True).drop_duplicates(list(KEY), ignore_index=True)


def _frame(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    types = {column.name: column.kind for column in columns()}
    return pd.DataFrame(list(rows), columns=list(types)).astype(types)


def _without_timeline(record: Record, lines: Sequence[OperatorLine]) -> list[WindowReadings]:
    """Return the readings of the operators of a run whose timeline is missing, or not needed."""
    if _any_window(lines):
        return [without_power("the timeline of the monitor was not found")] * len(lines)
    return [without_power(reason_of_run(record, line.row.device)) for line in lines]


def _any_window(lines: Sequence[OperatorLine]) -> bool:
    return any(line.row.window_start_s is not None for line in lines)


def _no_window(record: Record, lines: Sequence[OperatorLine], line: OperatorLine) -> str:
    """Return the reason if an operator has no power window: it was not chosen, or the run has none."""
    return NO_WINDOW if _any_window(lines) else reason_of_run(record, line.row.device)


def _rows(profile: _Profile) -> Iterator[dict[str, Any]]:
    record = profile.record
    origin = _origin(record)
    environment = json.dumps(_environment(profile), sort_keys=True)
    idle = {
        (line.row.device, line.row.state): seen.power_w
        for line, seen in zip(profile.lines, profile.windows, strict=True)
        if line.row.kind == IDLE
    }
    for line, seen in zip(profile.lines, profile.windows, strict=True):
        measured = {**vars(line.row), "members": json.dumps(list(line.row.members))}
        limit_w = (line.row.requested_power_limit_w or profile.gpu.power_limit_w) if line.row.device == "gpu" else None
        idle_w = idle.get((line.row.device, line.row.state))
        around = {"host": line.host, "idle_power_w": idle_w, "power_limit_w": limit_w, "environment": environment}
        yield {**origin, **measured, **vars(seen), **around}


def _origin(record: Record) -> dict[str, Any]:
    """Return the columns of the run and the case of a record."""
    parameters = record.parameters
    named = ("framework", "model", "task", "execution", "dtype")
    texts = {name: None if parameters.get(name) is None else str(parameters[name]) for name in named}
    options = {name: json.dumps(parameters.get(name) or {}, sort_keys=True) for name in ("model_options", "optimizer")}
    processors = [*(record.gpus or ()), *(node.cpu_model for node in record.nodes)]
    return {
        **{name: text for name, text in texts.items() if name != "dtype"},
        "batch_size": parameters.get("batch_size"),
        "sweep": record.sweep,
        "experiment": record.experiment,
        "case": record.case_id,
        "run": record.run,
        "attempt": record.attempt,
        "framework_version": record.framework_version,
        "case_dtype": texts["dtype"],
        "model_options": options["model_options"],
        "optimizer": options["optimizer"] if parameters.get("task") == "training" else None,
        "device_model": next(filter(None, processors), None),
        "threads": record.threads.intra_op if record.threads else None,
    }


def _environment(profile: _Profile) -> dict[str, Any]:
    record = profile.record
    return {
        "python": record.python,
        "packages": record.packages,
        "driver": profile.gpu.driver,
        "nodes": [to_json(node) for node in record.nodes],
        "gpus": record.gpus,
        "settings": record.settings,
        "math_mode": record.work.math_mode if record.work else None,
        "affinity": record.affinity,
        "variables": performance.of(record.environment),
        "hpcbench_version": record.hpcbench_version,
    }
