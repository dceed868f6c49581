"""Lines of operator profiles as a node writes them, made by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hpcbench.core.profiling.operator_row import OperatorLine, OperatorRow
from hpcbench.core.record import Record
from hpcbench.core.typed_json import to_json
from hpcbench.store.workspace import SweepPaths


def an_operator(kind: str = "gemm", **changes: Any) -> OperatorRow:
    """An operator with these fields; its name and arguments are of its kind."""
    given = {"operator": f"aten.{kind}.default", "phase": "forward", "arguments": f'["{kind}"]', "dtype": "float32"}
    return OperatorRow(**{"kind": kind, **given, **changes})


def a_line(record: Record, row: OperatorRow, **changes: Any) -> dict[str, Any]:
    """The line of an operator in the run of a record, as JSON."""
    place = {"sweep": record.sweep, "case_id": record.case_id, "run": record.run, "started_at": record.started_at}
    made: dict[str, Any] = to_json(OperatorLine(**place, host="n1", row=row))
    return {**made, **changes}


def file_of(paths: SweepPaths, record: Record) -> Path:
    """The file for the operators of a record that a local run has written."""
    return paths.operators / record.job / "local.jsonl"


def write_lines(path: Path, lines: Iterable[dict[str, Any] | str]) -> None:
    """Append lines: JSON, or a text as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for line in lines:
            file.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
