"""Metrics from the kept output of a sweep: undefined ones, and definitions that the runs did not have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hpcbench.collect.found_metrics import FoundMetric, Printed, found_metrics
from hpcbench.core.metrics.error import MetricError
from hpcbench.core.metrics.kept_output import key_of
from hpcbench.core.metrics.of_command import measured
from hpcbench.core.metrics.value import Spec, not_found
from hpcbench.core.record import MetricValue, Record
from hpcbench.core.run_spec import COMMAND
from hpcbench.core.status import COMPLETED
from hpcbench.core.typed_json import from_json
from hpcbench.store.kept_output import KeptOutput, outputs
from hpcbench.store.workspace import SweepPaths

NOT_KEPT = "the output of the run was not kept"
_MOST_RANKS = 8  # whose output is searched for undefined metrics


def found_in_sweep(paths: SweepPaths, records: Iterable[Record]) -> tuple[FoundMetric, ...]:
    """Return the metrics in the output of the latest completed run of a command that its experiment does not define.

    Parameters that a program repeats, and numbers that a defined metric has found, are left out.
    """
    completed = [record for record in records if is_command(record) and record.status == COMPLETED]
    latest = max(completed, key=lambda record: record.ended_at, default=None)
    if latest is None:
        return ()
    kept = next((each for each in outputs(paths, [latest], {latest.batch}) if each.key == key_of(latest)), None)
    if kept is None:
        return ()
    found = found_metrics(*_printed(kept))
    declared = latest.metrics or {}
    known = {*declared, *latest.parameters, *latest.user_parameters}
    values = {(metric.value, metric.count) for metric in declared.values()}
    return tuple(each for each in found if each.name not in known and (each.last, each.count) not in values)


def _printed(kept: KeptOutput) -> list[Printed]:
    printed = []
    for rank in kept.ranks[:_MOST_RANKS]:
        try:
            printed.append(Printed(*(text.content for text in kept.texts(rank, with_errors=True))))
        except MetricError:  # not kept
            continue
    return printed


def with_metric(paths: SweepPaths, records: Sequence[Record], name: str, spec: Spec) -> list[Record]:
    """Return the records of a sweep; completed runs of commands have the metric, from their kept output.

    A run in whose output the metric is not found has the reason instead of a value.
    """
    wanted = {key_of(record) for record in records if is_command(record) and record.status == COMPLETED}
    attempts = [record for record in records if key_of(record) in wanted]
    found: dict[object, MetricValue] = {}
    for kept in outputs(paths, attempts, {record.batch for record in attempts}):
        if kept.key in wanted:
            found[kept.key] = from_json(MetricValue, measured({name: spec}, (), kept).metrics[name])
    lacking = from_json(MetricValue, not_found(spec, NOT_KEPT))
    return [
        replace(record, metrics={**(record.metrics or {}), name: found.get(key_of(record), lacking)})
        if key_of(record) in wanted
        else record
        for record in records
    ]


def is_command(record: Record) -> bool:
    """Return whether a record belongs to a command of the user, not to a built-in model."""
    return record.parameters.get("framework") == COMMAND
