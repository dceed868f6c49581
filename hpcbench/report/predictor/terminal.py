"""Predictions on a terminal: a table for each case, and what it recommends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING

import pandas as pd
from rich.console import Console
from rich.text import Text

from hpcbench.predict.results.choices import by_case
from hpcbench.report.predictor.text.case_tables import kind_columns, state_columns
from hpcbench.report.predictor.text.columns import columns
from hpcbench.report.predictor.text.headline import headline
from hpcbench.report.predictor.text.matrix import matrices
from hpcbench.report.predictor.text.overview import overview_table
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
from hpcbench.report.text.text_columns import as_table, fitting, fitting_tables
from hpcbench.util.text import in_short_list, plural

if TYPE_CHECKING:
    from hpcbench.predict.results.predictions import Predictions

MOST_CASES = 4  # with tables of their own
_MOST_NOTES = 10


def print_predictions(predictions: Predictions, wanted: Wanted, states: frozenset[str], console: Console) -> None:
    """Print what is predicted, and the predictions of each case, or of more than MOST_CASES cases one row per case.

    The basis of the models comes first, since it limits what the tables can decide. Tables have the default states of
    the devices, and those with the labels `states`.
    """
    if predictions.model:
        line = ": ".join(filter(None, (predictions.model, predictions.advice)))
        console.print(Text(f"{line}\n"), soft_wrap=True)
    found = by_case(predictions.results)
    console.print(Text(f"{headline(predictions.results)}\n", style="bold"), soft_wrap=True)
    if len(found) > MOST_CASES:
        _print_many(predictions, wanted, states, console)
    else:
        for number, (case, rows) in enumerate(found.items()):
            if number:
                console.print()
            if len(found) > 1:
                title = rows["label"].iloc[0] or case
                console.print(Text(title, style="bold"), soft_wrap=True)
            _print_case(rows, predictions, wanted, states, console)
    _print_overview(predictions, wanted, console)


def _print_many(predictions: Predictions, wanted: Wanted, states: frozenset[str], console: Console) -> None:
    """Print one row per case, then how many cases have each note on devices without room, or without a prediction."""
    for found in matrices(predictions, wanted, states, console.width):
        console.print(Text(found.title, style="bold"))
        console.print(as_table(found.columns))
        if found.dropped:
            console.print(Text(f"{in_short_list(found.dropped)}: in the files of --csv and --html"), soft_wrap=True)
        console.print()
    shown = predictions.results[predictions.results["state"].isin({"", *states})]
    cases = by_case(shown).values()
    notes = Counter(chain.from_iterable([*without_room(rows), *refusals(rows), *remarks(rows)] for rows in cases))
    lines = [
        text if count == len(cases) else f"{text} ({plural(count, 'case')})" for text, count in notes.most_common()
    ]
    more = [f"and {plural(len(lines) - _MOST_NOTES, 'more note')}"] if len(lines) > _MOST_NOTES else []
    _print_lines([*lines[:_MOST_NOTES], *more], console)
    of_cases = "each case" if len(cases) <= MOST_ON_PAGE else f"the first {MOST_ON_PAGE} cases"
    _print_lines([f"--html shows the intervals and best clocks of {of_cases}, and --csv has all values."], console)


def _print_overview(predictions: Predictions, wanted: Wanted, console: Console) -> None:
    found = overview_table(predictions, wanted)
    if found is not None:
        console.print(Text(f"\n{found.title}", style="bold"), soft_wrap=True)
        for number, table in enumerate(fitting_tables(list(found.columns), console.width)):
            if number:
                console.print()
            console.print(as_table(table))
        console.print(Text(f"\n{found.about}"), soft_wrap=True)


def _print_case(
    rows: pd.DataFrame, predictions: Predictions, wanted: Wanted, states: frozenset[str], console: Console
) -> None:
    shown = rows[rows["state"].isin({"", *states})]
    answered = shown[shown["reason"] == ""]
    if len(answered):
        console.print(as_table(fitting(columns(answered, predictions), console.width)))
    compared = list(comparisons(rows, predictions, wanted))
    if len(answered) and compared:
        console.print()
    _print_lines(compared, console)
    tables = [state_columns(rows, predictions) if has_states(wanted) else [], kind_columns(rows, predictions)]
    for found in filter(None, tables):
        console.print()
        console.print(as_table(fitting(found, console.width)))
    based_on = [f"based on: {line}" for line in bases(shown)]
    if based_on:
        console.print()
    _print_lines([*based_on, *remarks(shown), *without_room(shown), *refusals(shown)], console)


def _print_lines(lines: Iterable[str], console: Console) -> None:
    for line in lines:
        console.print(Text(line), soft_wrap=True)
