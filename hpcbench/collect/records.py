"""Reading record files: one JSON line per repetition, from whatever wrote them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from hpcbench.errors import UserError
from hpcbench.monitor.interference import DISTURBED
from hpcbench.node import outcomes
from hpcbench.node.record import SCHEMA
from hpcbench.workspace import SweepPaths

Record = dict[str, Any]
_ALWAYS = {"job", "element", "case_id", "repetition", "parameters", "slurm", "ended_at", "error"}
RECONCILED = "reconciled.jsonl"  # written here, for repetitions that ended without writing a record themselves


@dataclass
class RecordFiles:
    """The records of a sweep, and the lines that could not be read."""

    records: list[Record] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)


def read_records(paths: SweepPaths) -> RecordFiles:
    """Every record of a sweep. A line that is no record is counted as damaged, never an end to reading.

    Raises UserError for records of a schema that this version does not know.
    """
    found = RecordFiles()
    for path in _files(paths.records):
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            record = _parsed(line)
            if record is None:
                found.damaged.append(f"{path}:{number}")
            elif record.get("schema") != SCHEMA:
                raise UserError(
                    f"the record has schema {record.get('schema')}, and this hpcbench reads {SCHEMA}",
                    where=f"{path}:{number}",
                    hint=f"it was written by hpcbench {record.get('hpcbench_version')}",
                )
            else:
                found.records.append(record)
    return found


def read_element(paths: SweepPaths, job: str, element: int) -> list[Record]:
    """The records that one element of a job has written so far."""
    try:
        lines = paths.record(job, element).read_bytes().splitlines()
    except FileNotFoundError:
        return []
    return [record for record in map(_parsed, lines) if record is not None]


def best_attempt(records: Iterable[Record]) -> Record | None:
    """The record of a repetition that counts: the last completed one, if it can be one that nobody disturbed, else the
    last one.

    What the job itself wrote counts before what was made up later.
    """
    ordered = sorted(records, key=lambda record: (record["attempt"] is not None, str(record["ended_at"])))
    completed = [record for record in ordered if record["status"] == outcomes.COMPLETED]
    chosen = [record for record in completed if not is_disturbed(record)] or completed or ordered
    return chosen[-1] if chosen else None


def is_disturbed(record: Record) -> bool:
    """Whether somebody else used the machine while it was measured."""
    return (record["interference"] or {}).get("verdict") == DISTURBED


def disturbed_by(record: Record) -> str | None:
    """The causes, as `cpu, memory`; None where it was not disturbed."""
    if not is_disturbed(record):
        return None
    return ", ".join(dict.fromkeys(cause for found in record["interference"]["found"] for cause in found["causes"]))


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.glob("*.jsonl"))
    yield from sorted(folder.glob("*/*.jsonl"))


def _decoded(line: bytes) -> Any:
    """By a parser four times as fast as Python's, which in turn takes what the fast one refuses: half a surrogate pair,
    as output that is no UTF-8 leaves it in a message."""
    try:
        return from_json(line)
    except ValueError:
        return json.loads(line)


def _parsed(line: bytes) -> Record | None:
    try:
        record = _decoded(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not {"schema", "status"} <= record.keys():
        return None
    return record if record["schema"] != SCHEMA or record.keys() >= _ALWAYS else None
