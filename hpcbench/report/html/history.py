"""The page of a history: changes, the figure, and all values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import pandas as pd

from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.analysis.studies.history import Shift
from hpcbench.report.charts import components
from hpcbench.report.html import page_model
from hpcbench.report.html.figure import on_page
from hpcbench.report.terminal.history import (
    History,
    also_changed,
    columns,
    history_table,
    remarks,
    size,
    summary,
    title,
)
from hpcbench.util.text import plural

MAX_HEADLINES = 6
MAX_PLACES = 100  # rows of changes and of cases
MAX_ROWS = 5000  # rows of the table
_VALUES = ("value", "low", "high", "level")
_TITLES = {
    "started_at": "start (UTC)",
    "case": "id",
    "label": "case",
    "is_change": "changes here",
    "note": "change",
}
_HIDDEN = (
    "case",
    "quantity",
    "low",
    "high",
    "is_change",
    "interference_runs",
    "error",
)  # columns that are initially hidden


def page_of_history(history: History, figures: Iterable[components.Figure], created_at: datetime) -> page_model.Page:
    """Return the page of a history."""
    return page_model.Page(
        title=f"{history.experiment}: history",
        subtitle=(title(history),),
        created_at=created_at,
        headlines=tuple(_headlines(history)),
        notices=tuple(remarks(history)),
        figures=tuple(on_page(figure, wide=True) for figure in figures),
        aggregates=page_model.Aggregates("Changes and cases", _about(history), tuple(_tables(history)), "Changes"),
        table=_table(history),
    )


def _about(history: History) -> str:
    rule = summary(history)
    text = f"{rule[0].upper()}{rule[1:]}."
    return f"{text} Brackets: 95 % CI of the ratio." if history.shifts else text


def _headlines(history: History) -> Iterator[page_model.Headline]:
    """Yield the latest change of each case, then the number of cases without a change."""
    latest = history.latest_shifts
    for case, shift in list(latest.items())[:MAX_HEADLINES]:
        since = f"{size(shift)} since {shift.after.started_at[:10]}"
        yield page_model.Headline(since, about=history.labels[case], details=(f"Also changed: {_changed(shift)}.",))
    if len(latest) > MAX_HEADLINES:
        yield page_model.Headline(f"{plural(len(latest) - MAX_HEADLINES, 'more case')} changed: see the changes below")
    left = len(history.judged) - len(latest)
    if not history.judged:
        yield page_model.Headline(_about(history))
    elif left:
        of = plural(left, "other case" if latest else "case")
        yield page_model.Headline(f"No change in {plural(len(history.sweeps), 'sweep')} of {of}")


def _changed(shift: Shift) -> str:
    return also_changed(shift) or "nothing recorded"


def _tables(history: History) -> Iterator[page_model.Ranking]:
    if history.shifts:
        yield _changes(history)
    yield _cases(history)


def _changes(history: History) -> page_model.Ranking:
    """Return the changes, latest first, with their numbers in the figure."""
    several = bool(history.shown)
    titles = ("date", "first sweep after the change", *["case"] * several, "change", "also changed")
    headings = (page_model.Heading("number"), *(page_model.Heading(each, numeric=False) for each in titles))
    places = []
    for number, shift in reversed(history.numbered):
        when = shift.after.started_at[:10], shift.after.sweep
        places.append((str(number), *when, *[history.labels[shift.case]] * several, size(shift), _changed(shift)))
    return _ranking("Changes, the latest first", headings, places)


def _cases(history: History) -> page_model.Ranking:
    """Return the cases with the columns of the terminal."""
    found = columns(history, len(history.histories), plain=False)
    headings = tuple(page_model.Heading(each.header, not each.is_text) for each in found)
    return _ranking("Cases", headings, list(zip(*(each.cells for each in found), strict=True)))


def _ranking(
    name: str, headings: tuple[page_model.Heading, ...], cells: Sequence[tuple[str, ...]]
) -> page_model.Ranking:
    left = len(cells) - MAX_PLACES
    note = f"and {left:,} more, in the files of --csv and --json" if left > 0 else ""
    return page_model.Ranking(name, headings, tuple(map(page_model.TableRow, cells[:MAX_PLACES])), note)


def _table(history: History) -> page_model.Table:
    """Return the table of values, latest sweeps first."""
    frame = history_table(history).sort_values("started_at", ascending=False, kind="stable")
    hidden = {*_HIDDEN, *(["label"] if not history.shown else [])}
    shown_columns = tuple(_column(name, history.quantity, shown=name not in hidden) for name in map(str, frame))
    frame["started_at"] = pd.to_datetime(frame["started_at"], utc=True).dt.strftime("%Y-%m-%d %H:%M:%S")
    kept = frame.head(MAX_ROWS).astype(object)
    rows = list(kept.where(kept.notna(), None).itertuples(index=False, name=None))
    whole = len(rows) == len(frame)
    caption = "All values" if whole else f"The latest {len(rows):,} of {len(frame):,} values"
    command = "hpcbench history --csv FILE"
    return page_model.Table(shown_columns, rows, caption, of="value", file="history.csv", command=command)


def _column(name: str, quantity: Quantity, *, shown: bool) -> page_model.Column:
    heading = _TITLES.get(name, name)
    if name in _VALUES:
        kind: page_model.Kind = "time" if quantity.unit == "s" else "bytes" if quantity.unit == "B" else "number"
        return page_model.Column(name, heading, kind, quantity.unit if kind == "number" else "", shown)
    return page_model.Column(name, heading, "number" if name in ("runs", "interference_runs") else "text", shown=shown)
