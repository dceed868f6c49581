"""Predictions on a terminal: a table for each case, and what it recommends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pandas as pd
from rich.console import Console
from rich.text import Text

from hpcbench.predict.results.choices import by_case
from hpcbench.report.text.predictions.case_tables import kind_columns, state_columns
from hpcbench.report.text.predictions.columns import columns
from hpcbench.report.text.predictions.overview import ABOUT, overview_columns, overview_title
from hpcbench.report.text.predictions.summary import Wanted, bases, comparisons, has_states, refusals, without_room
from hpcbench.report.text.text_columns import as_table, fitting
from hpcbench.util.text import plural

if TYPE_CHECKING:
    from hpcbench.predict.results.predictions import Predictions

MOST_CASES = 10


def print_predictions(predictions: Predictions, wanted: Wanted, states: frozenset[str], console: Console) -> None:
    """Print the predictions of the first MOST_CASES cases.

    Tables have the default states of the devices, and those with the labels `states`.
    """
    found = by_case(predictions.results)
    for number, (case, rows) in enumerate(list(found.items())[:MOST_CASES]):
        if number:
            console.print()
        if len(found) > 1:
            title = rows["label"].iloc[0] or case
            console.print(Text(title, style="bold"), soft_wrap=True)
        _print_case(rows, predictions, wanted, states, console)
    if len(found) > MOST_CASES:
        console.print(f"\nand {plural(len(found) - MOST_CASES, 'more case')}, in the files of --csv and --html")
    _print_overview(predictions.results, wanted, console)
    if predictions.model:
        console.print(Text(f"\n{predictions.model}"), soft_wrap=True)


def _print_overview(results: pd.DataFrame, wanted: Wanted, console: Console) -> None:
    found, count = overview_columns(results, wanted.quantities)
    if found:
        console.print(Text(f"\n{overview_title(count)}", style="bold"), soft_wrap=True)
        console.print(as_table(fitting(found, console.width)))
        console.print(Text(f"\n{ABOUT}"), soft_wrap=True)


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
    _print_lines([*based_on, *without_room(shown), *refusals(shown)], console)


def _print_lines(lines: Iterable[str], console: Console) -> None:
    for line in lines:
        console.print(Text(line), soft_wrap=True)
