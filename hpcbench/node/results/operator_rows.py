"""Keep the rows of operator profiles next to the records of their runs."""

import json
import os
import sys
from typing import Any, Dict, Iterator, List

from ...core.files import append_lines, no_link
from ...core.profiling.operator_row import FOLDER, OperatorLine, OperatorRow
from ...core.record import Record
from ...core.typed_json import from_json, to_json
from ..launch.rank_files import OPERATORS
from . import kept_output


def beside(path: str) -> str:
    """Return SWEEP/operators/BATCH/7_3.jsonl for records in SWEEP/records/BATCH/7_3.jsonl."""
    return kept_output.beside(path, FOLDER, ".jsonl")


def keep(record: Record, ranks: List[Dict[str, Any]], scratch: str, path: str) -> bool:
    """Append the rows of a run to the file that belongs to the records in `path`; return whether none is lost.

    Call it before the record is appended: afterwards, the rows of a run are not searched. Of a row that is appended
    twice, readers use one. Print a message if the rows cannot be kept: `scratch` has the only copy.
    """
    try:
        run = (record.sweep, record.case_id, record.run, record.started_at, ranks[0]["host"] if ranks else "")
        lines = [json.dumps(to_json(OperatorLine(*run, row)), separators=(",", ":")) for row in _rows(scratch)]
        if lines:
            append_lines(beside(path), "".join(line + "\n" for line in lines).encode())
        return True
    except OSError as error:
        print("hpcbench: the operator profile was not kept: %s; it is in %s" % (error, scratch), file=sys.stderr)
        return False


def _rows(scratch: str) -> Iterator[OperatorRow]:
    """Yield the rows in a scratch folder. A killed worker may have cut the last one off."""
    path = os.path.join(scratch, OPERATORS)
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8", errors="replace", opener=no_link) as file:
        for line in file:
            try:
                yield from_json(OperatorRow, json.loads(line))
            except ValueError:
                continue
