"""Read the lines of operator profiles that nodes have written. Another user may have written the files."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from hpcbench.collect.record_place import possible_files
from hpcbench.core.profiling.operator_row import OperatorLine
from hpcbench.core.record import Record
from hpcbench.core.typed_json import InvalidError, from_json
from hpcbench.store.workspace import SweepPaths
from hpcbench.util.bounded_read import lines
from hpcbench.util.fast_json import decoded

MAX_LINE = 2**20  # bytes
MAX_ROWS = 500_000  # of a sweep
MAX_FILE = 2**30  # bytes
LinesOfRuns = dict[tuple[str, int], list[OperatorLine]]  # by case and run


@dataclass
class ProfileFiles:
    """The operators of each run, by its record's place in the sweep's records, and the lines that were left out."""

    rows: dict[int, list[OperatorLine]] = field(default_factory=dict)
    damaged: list[str] = field(default_factory=list)  # FILE:LINE, with the error if it is known


def read_profiles(paths: SweepPaths, records: Iterable[Record]) -> ProfileFiles:
    """Return the operators of the records of a sweep; an operator that is in a file twice is there once.

    Lines that are damaged, too long, or of no record are left out; damaged ones are listed.
    """
    found, by_file = ProfileFiles(), dict[Path, LinesOfRuns]()
    left = MAX_ROWS
    for place, record in enumerate(records):
        if not record.measure.get("profile"):
            continue
        candidates = [paths.operators / file.parent.name / file.name for file in possible_files(paths, record)]
        path = next((file for file in candidates if file.is_file()), None)
        if path is None:
            continue
        if path not in by_file:
            by_file[path] = _by_run(_read(path, paths.name, found.damaged, left))
            left -= sum(map(len, by_file[path].values()))
        of_run = by_file[path].get((record.case_id, record.run), ())
        # A concluded record has no attempt. Numbers of attempts are those of one job, and not of all jobs of a run.
        is_concluded = record.attempt is None
        own = {line.row.key: line for line in of_run if is_concluded or line.started_at == record.started_at}
        if own:
            found.rows[place] = list(own.values())
    return found


def _by_run(found: Iterable[OperatorLine]) -> LinesOfRuns:
    grouped: LinesOfRuns = {}
    for line in found:
        grouped.setdefault((line.case_id, line.run), []).append(line)
    return grouped


def _read(path: Path, sweep: str, damaged: list[str], most: int) -> Iterator[OperatorLine]:
    """Yield the valid lines of a file, at most `most`; add the others to `damaged`."""
    with path.open("rb") as file:
        for number, text in enumerate(lines(file), 1):
            try:
                if number > most or file.tell() > MAX_FILE:
                    raise ValueError("too many lines: this and all later ones are left out")
                yield _parsed(text, sweep)
            except ValueError as error:
                damaged.append(f"{path}:{number} ({error})")
                if number > most or file.tell() > MAX_FILE:
                    return


def _parsed(text: bytes, sweep: str) -> OperatorLine:
    """Return the line. Raise ValueError if it is not valid."""
    if len(text) > MAX_LINE:
        raise ValueError(f"longer than {MAX_LINE // 2**20} MiB")
    line = from_json(OperatorLine, decoded(text))
    if line.sweep != sweep:
        raise InvalidError("sweep", f" is not {sweep}")
    for name, value in vars(line.row).items():
        if isinstance(value, int | float) and not (math.isfinite(value) and value >= 0):
            raise InvalidError(f"row.{name}", f" is {value}")
    return line
