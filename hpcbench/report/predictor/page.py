"""The page of predictions: recommendations, figures, a table for each case, and all values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING

import pandas as pd

from hpcbench.predict.results.choices import best_states, by_case
from hpcbench.predict.results.table import BASIS, MEMORY, QUANTITIES, TIME, limits_of
from hpcbench.report.charts import components
from hpcbench.report.html import page_model
from hpcbench.report.html.figure import on_page
from hpcbench.report.predictor.text.case_tables import kind_columns, state_columns
from hpcbench.report.predictor.text.columns import columns
from hpcbench.report.predictor.text.headline import headline
from hpcbench.report.predictor.text.overview import overview_sentences, overview_table
from hpcbench.report.predictor.text.quantities import quantity
from hpcbench.report.predictor.text.summary import (
    MOST_ON_PAGE,
    Wanted,
    bases,
    comparisons,
    has_states,
    refusals,
    remarks,
    without_room,
)
from hpcbench.report.text.text_columns import Column
from hpcbench.util.text import plural

if TYPE_CHECKING:
    from hpcbench.predict.results.predictions import Predictions

MOST_ROWS = 5000
_ABOUT = (
    "90 % PI: prediction interval, which contains the measured value with a probability of 90 %. Tables of cases have "
    "the default state of each device, and its clock and power limit of least energy. The last table has all states."
)
_HIDDEN = ("case", "clock_mhz", "power_limit_w", "device_measured", *BASIS)


def page_of_predictions(
    predictions: Predictions,
    wanted: Wanted,
    figures: Iterable[components.Figure],
    created_at: datetime,
    states: Collection[str] = (),
) -> page_model.Page:
    """Return the page of predictions. Tables of cases have the states with the labels `states`, and those below."""
    cases = by_case(predictions.results)
    shown = dict(list(cases.items())[:MOST_ON_PAGE])
    of_all = overview_sentences(predictions, wanted)
    notes = {case: _notes(rows) for case, rows in cases.items()}
    shared = [line for line in next(iter(notes.values()), []) if of_all and all(line in own for own in notes.values())]
    return page_model.Page(
        title=f"{predictions.experiment}: predictions",
        subtitle=tuple(filter(None, (headline(predictions.results), predictions.model))),
        created_at=created_at,
        headlines=(
            *_of_all(of_all, shared, len(cases)),
            *chain.from_iterable(
                _headlines(rows, [line for line in notes[case] if line not in shared], predictions, wanted)
                for case, rows in shown.items()
            ),
        ),
        notices=tuple(_notices(predictions)),
        figures=tuple(on_page(figure, wide=True) for figure in figures),
        aggregates=page_model.Aggregates(
            "Devices",
            _ABOUT,
            (
                *_overview(predictions, wanted),
                *(table for case, rows in shown.items() for table in _tables(case, rows, predictions, wanted, states)),
            ),
            "Devices",
        ),
        table=_table(predictions),
    )


def _of_all(sentences: Sequence[str], shared: Sequence[str], count: int) -> Iterator[page_model.Headline]:
    """Yield the headline on all cases, with the lines that all of them share."""
    if sentences:
        details = (*sentences[1:], *shared)
        yield page_model.Headline(sentences[0], about=f"all {plural(count, 'case')}", details=details)


def _notes(rows: pd.DataFrame) -> list[str]:
    """Return the lines on a case that compare no devices: remarks, and the basis of its predictions."""
    return [
        *(f"{line}." for line in [*without_room(rows), *remarks(rows)]),
        *(f"Based on: {line}." for line in bases(rows)),
    ]


def _headlines(
    rows: pd.DataFrame, notes: Sequence[str], predictions: Predictions, wanted: Wanted
) -> Iterator[page_model.Headline]:
    """Yield the first recommendation of a case as the headline, with the others and notes as details, if any."""
    found = list(comparisons(rows, predictions, wanted))
    if found or notes:
        about = rows["label"].iloc[0] if predictions.results["case"].nunique() > 1 else ""
        first = found[0] if found else "A comparison requires two devices."
        yield page_model.Headline(first, about=about, details=(*found[1:], *notes))


def _notices(predictions: Predictions) -> Iterator[str]:
    count = predictions.results["case"].nunique()
    if count > MOST_ON_PAGE:
        yield f"The first {MOST_ON_PAGE} of {plural(count, 'case')} have a table of their own; the table below has all."
    yield from (f"{line}." for line in refusals(predictions.results))


def _overview(predictions: Predictions, wanted: Wanted) -> Iterator[page_model.Ranking]:
    found = overview_table(predictions, wanted)
    if found is not None:
        yield _table_of(found.title, found.columns, found.about)


def _tables(
    case: str, rows: pd.DataFrame, predictions: Predictions, wanted: Wanted, states: Collection[str]
) -> Iterator[page_model.Ranking]:
    """Yield the tables of a case: its devices, the states of least energy, and the kinds of operators."""
    title = rows["label"].iloc[0] or case
    yield _ranking(case, rows, predictions, states)
    of_states = state_columns(rows, predictions) if has_states(wanted) else []
    others = {"least energy": of_states, "time by kind of operator": kind_columns(rows, predictions)}
    yield from (_table_of(f"{title}: {what}", found) for what, found in others.items() if found)


def _ranking(case: str, rows: pd.DataFrame, predictions: Predictions, states: Collection[str]) -> page_model.Ranking:
    """Return the table of a case: default states, those of least energy, and the states with these labels."""
    best = {(each.device, each.state) for each in best_states(rows, predictions.states)}
    is_best = [pair in best for pair in zip(rows["device"], rows["state"], strict=True)]
    shown = rows[rows["state"].isin(["", *states]) | pd.Series(is_best, index=rows.index)]
    answered = shown[shown["reason"] == ""].sort_values(TIME)
    return _table_of(rows["label"].iloc[0] or case, columns(answered, predictions))


def _table_of(title: str, found: Sequence[Column], note: str = "") -> page_model.Ranking:
    headings = tuple(page_model.Heading(each.header, not each.is_text) for each in found)
    cells = zip(*(map(_with_its_unit, each.cells) for each in found), strict=True)
    return page_model.Ranking(title, headings, tuple(map(page_model.TableRow, cells)), note)


def _with_its_unit(cell: str) -> str:
    """Return a cell in which no line breaks between a number at the end and its unit: `l40s at 960 MHz`."""
    return re.sub(r"(?<=\d) (?=\S+$)", "\N{NO-BREAK SPACE}", cell)


def _table(predictions: Predictions) -> page_model.Table:
    frame = predictions.results
    kept = frame.head(MOST_ROWS).astype(object)
    rows = list(kept.where(kept.notna(), None).itertuples(index=False, name=None))
    caption = "All values" if len(rows) == len(frame) else f"The first {len(rows):,} of {len(frame):,} values"
    shown_columns = tuple(_column(str(name), predictions) for name in frame)
    command = "hpcbench predict ... --csv FILE"
    return page_model.Table(shown_columns, rows, caption, of="prediction", file="predictions.csv", command=command)


def _column(name: str, predictions: Predictions) -> page_model.Column:
    owner = next((each for each in QUANTITIES if name in (each, *limits_of(each))), None)
    if owner is None:
        kind: page_model.Kind = "number" if predictions.results[name].dtype.kind in "fi" else "text"
        return page_model.Column(name, name.replace("_", " "), kind, shown=name not in _HIDDEN)
    of = quantity(owner, predictions)
    kind = "time" if owner == TIME else "bytes" if owner == MEMORY else "number"
    end = "" if name == owner else " (PI low)" if name == limits_of(owner)[0] else " (PI high)"
    return page_model.Column(name, of.title + end, kind, of.unit if kind == "number" else "", shown=name == owner)
