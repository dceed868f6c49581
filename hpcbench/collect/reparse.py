"""Extract the metrics of a sweep again from the kept output of its commands, by other definitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hpcbench.collect.sweep_output import NOT_KEPT, is_command
from hpcbench.core.metrics import logged
from hpcbench.core.metrics.error import MetricError
from hpcbench.core.metrics.kept_output import AttemptKey, key_of
from hpcbench.core.metrics.of_command import WARNING, measured
from hpcbench.core.metrics.value import better, not_found
from hpcbench.core.record import Error, MetricValue, Record
from hpcbench.core.status import COMPLETED, FAILED, LAST_LINES, UNEXPECTED
from hpcbench.core.typed_json import from_json
from hpcbench.store.kept_output import KeptOutput, outputs
from hpcbench.store.records import best_attempt, in_order
from hpcbench.store.reparsed import Definitions, Reparsed
from hpcbench.store.workspace import SweepPaths

_OF_METRIC = WARNING.partition("%")[0]  # begins the warnings about metrics


def can_be_reparsed(record: Record) -> bool:
    """Return whether a record is of a command that ended without an error, apart from an unexpected output."""
    ended = record.status == COMPLETED or record.error_type == UNEXPECTED
    return ended and is_command(record)


def reparsed(
    paths: SweepPaths, records: Iterable[Record], definitions: Definitions, earlier: Definitions
) -> list[Reparsed]:
    """Return the outcomes of the attempts of commands by the definitions.

    `earlier` are the definitions by which the records were written. An attempt without kept output keeps the values of
    metrics whose definitions are unchanged.
    """
    wanted = {key_of(record): record for record in records if can_be_reparsed(record)}
    found: dict[AttemptKey, Reparsed] = {}
    for kept in outputs(paths, wanted.values()):
        if kept.key in wanted:
            found[kept.key] = _of_output(wanted[kept.key], kept, definitions, earlier)
    return [found.get(key) or _without_output(record, definitions, earlier) for key, record in wanted.items()]


def _of_output(record: Record, kept: KeptOutput, definitions: Definitions, earlier: Definitions) -> Reparsed:
    warnings = [warning for warning in record.warnings if not warning.startswith(_OF_METRIC)]
    try:
        made = measured(definitions.metrics, definitions.expect, kept)
    except MetricError as error:
        failure = Error(UNEXPECTED, str(error), record.error.last_lines if record.error else _last_lines(kept))
        return _outcome(record, FAILED, failure, None, warnings)
    of_output = {name: from_json(MetricValue, value) for name, value in made.metrics.items()}
    metrics = {**_of_probe(record, definitions, earlier), **of_output}
    return _outcome(record, COMPLETED, None, metrics, [*warnings, *made.warnings])


def _of_probe(record: Record, definitions: Definitions, earlier: Definitions) -> dict[str, MetricValue]:
    """Return the metrics that hpcbench_probe recorded, and those that the definitions make of its logged values."""
    recorded = _recorded(record, earlier)
    of_log = {
        name: _of_log(name, spec, record, recorded, earlier)
        for name, spec in definitions.metrics.items()
        if spec.get("log") is not None
    }
    return {**recorded, **of_log}


def _recorded(record: Record, earlier: Definitions) -> dict[str, MetricValue]:
    """Return the metrics that hpcbench_probe recorded without a definition: phases and logged values by name."""
    defined = {
        name
        for name, spec in earlier.metrics.items()
        if spec.get("log") is None or logged.identifier(spec["log"]) != name
    }
    return {name: each for name, each in (record.metrics or {}).items() if each.steps and name not in defined}


def _of_log(
    name: str, spec: Mapping[str, Any], record: Record, recorded: Mapping[str, MetricValue], earlier: Definitions
) -> MetricValue:
    """Return a metric from the logged values that the record has: at most 1,000 of each name."""
    if spec == earlier.metrics.get(name) and name in (record.metrics or {}):
        return (record.metrics or {})[name]
    source = recorded.get(logged.identifier(spec["log"]))
    reduce = spec["reduce"] or logged.LAST
    if source is not None and len(source.values) < (source.count or 0) and reduce != source.reduce:
        reason = f"the record has {len(source.values):,} of {source.count:,} logged values: run the sweep again"
        return from_json(MetricValue, not_found(dict(spec), reason))
    if source is not None and reduce == source.reduce:  # the last value may be one that the record does not list
        return replace(source, unit=spec["unit"], better=better(dict(spec)))
    values = (
        {} if source is None else {logged.identifier(spec["log"]): list(zip(source.steps, source.values, strict=True))}
    )
    return from_json(MetricValue, logged.measured({name: dict(spec)}, values)[name])


def _last_lines(kept: KeptOutput) -> Sequence[str]:
    texts = [text.content for text in kept.texts(kept.ranks[0], with_errors=True)] if kept.ranks else []
    return "".join(texts).splitlines()[-LAST_LINES:]


def _without_output(record: Record, definitions: Definitions, earlier: Definitions) -> Reparsed:
    if record.status != COMPLETED:
        return _outcome(record, record.status, record.error, record.metrics, record.warnings)
    known = record.metrics or {}
    metrics = {
        name: known[name]
        if name in known and spec == earlier.metrics.get(name)
        else from_json(MetricValue, not_found(spec, NOT_KEPT))
        for name, spec in definitions.metrics.items()
        if spec.get("log") is None
    }
    return _outcome(record, COMPLETED, None, {**_of_probe(record, definitions, earlier), **metrics}, record.warnings)


def _outcome(
    record: Record,
    status: str,
    error: Error | None,
    metrics: Mapping[str, MetricValue] | None,
    warnings: Sequence[str],
) -> Reparsed:
    return Reparsed(**key_of(record)._asdict(), status=status, error=error, metrics=metrics, warnings=warnings)


def records_that_count(records: Iterable[Record]) -> list[Record]:
    """Return the record that counts for each run of a command among these that can be reparsed."""
    runs: dict[tuple[str, int], list[Record]] = {}
    for record in filter(can_be_reparsed, records):
        runs.setdefault((record.job, record.element), []).append(record)
    return [best for attempts in runs.values() if (best := best_attempt(in_order(attempts))) is not None]
