"""The table of the runs of a case: status, measurements, interference, nodes and start of each."""

from __future__ import annotations

import datetime
from collections.abc import Iterator

import pandas as pd
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from hpcbench.analysis.cases.quantities import TIME
from hpcbench.analysis.stats.intervals import median_of
from hpcbench.core.samples import INTERFERENCE, SAMPLES, UNMONITORED, medians_of_parts
from hpcbench.report.terminal.case.facts import Facts
from hpcbench.report.terminal.case.plan import status
from hpcbench.report.terminal.case.view import CaseView, Row
from hpcbench.report.text.bars import sparkline
from hpcbench.report.text.numbers import column_format

_PARTS = 16  # characters of a sparkline
_COURSE = "over time"
_WORDS = ("attempt", "status", "stopped", "interference", "node")  # columns that may be shared by all runs
_UNWATCHED = "unmonitored"

Columns = dict[str, list[Text]]


def repetitions(view: CaseView, console: Console, *, plain: bool) -> Iterator[RenderableType]:
    """Yield a table of the runs, without empty columns.

    If it is too wide, values that all runs share move to a separate line, then the sparklines are omitted.
    """
    full = _columns(view, _courses(view, plain))
    common = {name for name in _WORDS if name in full and len({str(cell) for cell in full[name]}) == 1}
    tried = [_without(full, left) for left in (set(), common, {_COURSE}, {_COURSE, *common})]
    shown = next((columns for columns in tried if _fits(columns, console)), tried[-1])
    shared = [Text.assemble(f"{name} ", full[name][0]) for name in _WORDS if name in common - shown.keys()]
    if shared:
        yield Facts([("all of them", Text(", ").join(shared))])
    yield _table(shown)


def _without(columns: Columns, names: set[str]) -> Columns:
    return {name: cells for name, cells in columns.items() if name not in names}


def _fits(columns: Columns, console: Console) -> bool:
    """Return whether the table fits the console without broken words."""
    wide = console.options.update(max_width=10 * console.width)
    return console.measure(_table(columns), options=wide).maximum <= console.width


def _table(columns: Columns) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in columns:
        left = name == _COURSE or name in _WORDS
        table.add_column(name, justify="left" if left else "right", overflow="fold", no_wrap=not left)
    for line in zip(*columns.values(), strict=True):
        table.add_row(*line)
    return table


def _columns(view: CaseView, courses: dict[int, str]) -> Columns:
    """Return the cells of each column that is not empty, in the order of the runs."""
    used = {row["run"] for row in view.valid_rows}
    several = any(len(run.attempts) > 1 for run in view.runs)
    medians = [median_of(row[SAMPLES]) for row in view.repetitions if row[SAMPLES].size]
    unit, written = column_format(TIME, pd.Series(medians, dtype="float64"))
    columns: dict[str, list[Text]] = {}
    for row in view.repetitions:
        number, times = row["run"], row[SAMPLES]
        line = {
            "#": Text(str(number)),
            "attempt": Text(_attempt(row) if several else ""),
            "status": status(str(row["status"])),
            f"median ({unit})": Text(written(median_of(times)) if times.size else ""),
            "measurements": Text(f"{times.size:,}" if times.size else ""),
            _COURSE: Text(courses.get(number, ""), style="cyan"),
            "drift": Text("" if row["drift"] is None else f"{100 * row['drift']:+.1f} %"),
            "steady": Text({True: "yes", False: "no"}.get(row["steady"], "")),
            "stopped": Text(row["stopped"] or ""),
            "interference": _interference(row, number in used),
            "node": Text(row["nodes_used"] or ""),
            "started": Text(_local(row["started_at"])),
        }
        for name, cell in line.items():
            columns.setdefault(name, []).append(cell)
    return {name: cells for name, cells in columns.items() if any(cells)}


def _attempt(row: Row) -> str:
    """Return the valid attempt of a run and the number of attempts: `2 of 3`."""
    return f"{row['attempt'] or '-'} of {row['attempts']}" if row["attempts"] else ""


def _interference(row: Row, used: bool) -> Text:
    verdict = row["interference"] or ""
    if verdict == INTERFERENCE:
        return Text(f"{row['interference_causes']}{'' if used else ': left out'}", style="yellow")
    return Text(_UNWATCHED if verdict == UNMONITORED else verdict)


def _local(time: str | None) -> str:
    """Return an ISO 8601 time in the local time zone: `11-26 14:05:00`; empty for None."""
    return f"{datetime.datetime.fromisoformat(time).astimezone():%m-%d %H:%M:%S}" if time else ""


def _courses(view: CaseView, plain: bool) -> dict[int, str]:
    """Return a sparkline of the measurements of each run over time, on a common scale."""
    parts = {row["run"]: medians_of_parts(row[SAMPLES].tolist(), _PARTS) for row in view.repetitions}
    known = [value for values in parts.values() for value in values]
    limits = (min(known), max(known)) if known else None
    return {number: sparkline(values, limits, plain=plain) for number, values in parts.items() if len(values) > 1}
