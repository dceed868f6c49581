"""The file of metrics that `hpcbench reparse` extracted again: records are read with these, and stay as they are.

The first line has the definitions; each further line has the outcome of one attempt by them.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import hpcbench
from hpcbench.core.files import write_whole
from hpcbench.core.metrics.kept_output import AttemptKey, key_of
from hpcbench.core.record import Error, MetricValue, Record
from hpcbench.core.status import STATUSES
from hpcbench.core.typed_json import InvalidError, from_json, to_json
from hpcbench.errors import UserError
from hpcbench.store.workspace import SweepPaths
from hpcbench.util.bounded_read import lines
from hpcbench.util.fast_json import decoded

SCHEMA = 1


@dataclass(frozen=True)
class Definitions:
    """The metrics and the expected patterns of an experiment."""

    metrics: Mapping[str, Any]  # as the extraction of metrics takes them
    expect: Sequence[str] = ()


@dataclass(frozen=True)
class _Heading:
    """The first line: the definitions, and when and by which hpcbench they were used."""

    schema: int
    hpcbench_version: str
    reparsed_at: str  # ISO 8601
    metrics: Mapping[str, Any]
    expect: Sequence[str]


@dataclass(frozen=True)
class Reparsed:
    """The outcome of one attempt by the definitions."""

    job: str
    element: int
    batch: str
    attempt: int | None
    started_at: str
    status: str
    error: Error | None
    metrics: Mapping[str, MetricValue] | None
    warnings: Sequence[str]

    @property
    def key(self) -> AttemptKey:
        """Return the key of the attempt."""
        return AttemptKey(self.job, self.element, self.batch, self.attempt, self.started_at)

    def applied(self, record: Record) -> Record:
        """Return the record of the attempt with this outcome."""
        return replace(
            record, status=self.status, error=self.error, metrics=self.metrics, warnings=sorted(self.warnings)
        )


@dataclass
class Overlay:
    """The outcomes by attempt, their definitions, and the lines that are not valid."""

    definitions: Definitions | None = None
    outcomes: dict[AttemptKey, Reparsed] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)

    def applied(self, records: Iterable[Record]) -> list[Record]:
        """Return the records, each with its outcome if it has one."""
        if not self.outcomes:
            return list(records)
        found = ((record, self.outcomes.get(key_of(record))) for record in records)
        return [record if outcome is None else outcome.applied(record) for record, outcome in found]


def write(paths: SweepPaths, definitions: Definitions, outcomes: Iterable[Reparsed]) -> None:
    """Replace the file. Raise OSError if it cannot be written; it is then unchanged."""
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    heading = _Heading(SCHEMA, hpcbench.__version__, now, definitions.metrics, definitions.expect)
    made = (json.dumps(to_json(each), separators=(",", ":")) + "\n" for each in (heading, *outcomes))
    write_whole(str(paths.reparsed), "".join(made), durable=True)


def read(paths: SweepPaths) -> Overlay:
    """Return the content of the file; an empty overlay if the file does not exist.

    Raise UserError if another version of hpcbench wrote it.
    """
    overlay = Overlay()
    try:
        file = paths.reparsed.open("rb")
    except FileNotFoundError:
        return overlay
    with file:
        for number, line in enumerate(lines(file), 1):
            try:
                _add(overlay, decoded(line), paths)
            except (InvalidError, ValueError, RecursionError) as error:
                overlay.damaged.append(f"{paths.reparsed}:{number} ({error})")
    return overlay


def _add(overlay: Overlay, data: Any, paths: SweepPaths) -> None:
    if overlay.definitions is None:
        heading = from_json(_Heading, data)
        if heading.schema != SCHEMA:
            what = f"was written by another version of hpcbench ({heading.hpcbench_version})"
            raise UserError(what, where=str(paths.reparsed), hint=f"hpcbench reparse {paths.name} --undo")
        overlay.definitions = Definitions(heading.metrics, heading.expect)
        return
    outcome = from_json(Reparsed, data)
    if outcome.status not in STATUSES:
        raise InvalidError("status", " is not a status")
    overlay.outcomes[outcome.key] = outcome
