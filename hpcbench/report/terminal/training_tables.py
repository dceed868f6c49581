"""The tables of training on a terminal: parts of a step, accuracy after equal epochs, and divergence."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from rich.console import Console
from rich.text import Text

from hpcbench.analysis.results import Results
from hpcbench.report.terminal.divergence import print_divergences
from hpcbench.report.text.counts import print_omitted
from hpcbench.report.text.text_columns import Column, as_table, fitting
from hpcbench.report.text.training import equal_epochs, step_parts


def print_training_tables(results: Results, top: int, console: Console) -> None:
    """Print the first `top` rows of each table of training that the cases allow."""
    parts, equal = step_parts.parts_of(results), equal_epochs.equal_epochs_of(results)
    _print(step_parts.TITLE, parts, lambda rows: step_parts.parts_columns(results, rows), top, console)
    _print(equal_epochs.TITLE, equal, lambda rows: equal_epochs.equal_epochs_columns(results, rows), top, console)
    print_divergences(results, top, console)


def _print(
    title: str, rows: pd.DataFrame, columns: Callable[[pd.DataFrame], list[Column]], top: int, console: Console
) -> None:
    if rows.empty:
        return
    console.print(Text(title, style="italic"), soft_wrap=True)
    console.print(as_table(fitting(columns(rows.head(top)), console.width)))
    print_omitted(len(rows) - top, console, "--html")
