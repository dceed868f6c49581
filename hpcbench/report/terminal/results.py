"""The results on a terminal: headlines, rankings and failures; plain text in a pipe."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
from rich.console import Console
from rich.text import Text

from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.analysis.results import Results, Workload
from hpcbench.analysis.stats.intervals import MIN_TO_RESAMPLE
from hpcbench.analysis.studies.best_case import best_case, measured_workloads
from hpcbench.report.terminal.acceptance import print_acceptance
from hpcbench.report.terminal.training_tables import print_training_tables
from hpcbench.report.text.bars import bar, shows_blocks
from hpcbench.report.text.best_case_sentence import sentence
from hpcbench.report.text.case_warnings import case_warnings
from hpcbench.report.text.counts import print_omitted
from hpcbench.report.text.failures import failures_of
from hpcbench.report.text.lone_cases import lone_cases
from hpcbench.report.text.predicted.notes import prediction_notes
from hpcbench.report.text.ranking import columns_of
from hpcbench.report.text.ranking_notes import ranking_notes
from hpcbench.report.text.text_columns import Column, as_table, fitting_tables
from hpcbench.util.text import plural

MAX_ANSWERS = 6
MAX_FAILURES = 4  # kinds of failures
MAX_INSIGHTS = 3
_BAR, _FIRST = 10, 9  # characters of a bar, and its Column.gives_way, the highest


def print_report(results: Results, top: int, console: Console, *, answered: bool = False) -> None:
    """Print the best cases unless `answered`, then the first `top` cases of each workload, warnings and failures."""
    compared, alone = lone_cases(results)
    if not answered:
        _print_answers(results, compared, console)
    for work in compared:
        _print_table(results, work, top, console, with_bars=True)
    for work in alone:
        _print_table(results, work, top, console, with_bars=False)
    print_training_tables(results, top, console)
    cases = results.cases
    for warning in case_warnings(cases, results.full_label):
        console.print(Text.assemble(("warning", "yellow"), f": {warning}"), soft_wrap=True)
    _print_autocorrelation(cases, console)
    for note in (*ranking_notes(results), *prediction_notes(results)):
        console.print(Text(note), soft_wrap=True)
    _print_failures(results, console)
    print_acceptance(results, console)


def _print_table(results: Results, work: Workload, top: int, console: Console, *, with_bars: bool) -> None:
    console.print(Text(work.title, style="italic"), soft_wrap=True)
    best = replace(work, cases=work.cases.head(top))
    columns = columns_of(best, results.quantity, results.metrics)
    if with_bars:
        columns.append(_bars(best.cases, results.quantity, console))
    for table in fitting_tables(columns, console.width):
        console.print(as_table(table))
    print_omitted(len(work.cases) - top, console, "--csv")
    if work.cases[results.ranked_by(work).column].isna().all():
        console.print(f"Not ranked: no case has the metric '{results.ranked_by(work).title}'.", soft_wrap=True)


def print_insights(insights: list[str], console: Console) -> None:
    """Print the first MAX_INSIGHTS insights, and the number of omitted ones."""
    for insight in insights[:MAX_INSIGHTS]:
        console.print(Text(insight), soft_wrap=True)
    if len(insights) > MAX_INSIGHTS:
        console.print(f"... and {len(insights) - MAX_INSIGHTS} more of these: --html FILE")


def _bars(cases: pd.DataFrame, quantity: Quantity, console: Console) -> Column:
    """Return a column of bars relative to the best case, which narrow terminals drop first."""
    values = cases[quantity.column].astype(float)
    shares = values / values.max() if quantity.more_is_better else values.min() / values
    plain = not shows_blocks(console)
    cells = tuple("" if pd.isna(share) else bar(share, _BAR, plain=plain).ljust(_BAR) for share in shares)
    return Column("", cells, gives_way=_FIRST, is_text=True)


def _print_answers(results: Results, works: list[Workload], console: Console) -> None:
    """Print a sentence on the best case of each workload, with its title if there are several."""
    measured = measured_workloads(results, works)
    for work in measured[:MAX_ANSWERS]:
        name = f"{work.short_title}: " if len(results.workloads) > 1 else ""
        told = sentence(best_case(results, work))
        told = told if not name else told.replace("No case", "no case", 1)
        console.print(Text.assemble((name, "italic"), (told, "bold")), soft_wrap=False)
    if len(measured) > MAX_ANSWERS:
        more = plural(len(measured) - MAX_ANSWERS, "more workload")
        console.print(f"... and {more}; see the tables below, best first")


def _print_failures(results: Results, console: Console) -> None:
    """Print one line per kind of failure: cases and reason."""
    found = failures_of(results)
    for failure in found[:MAX_FAILURES]:
        console.print(Text.assemble((failure.status, "red"), failure.in_words), soft_wrap=True)
    if len(found) > MAX_FAILURES:
        more = sum(len(failure.cases) for failure in found[MAX_FAILURES:])
        console.print(f"... and {more:,} more for other reasons: hpcbench status, or --html FILE")


def _print_autocorrelation(cases: pd.DataFrame, console: Console) -> None:
    """Print the number of cases whose interval is widened by autocorrelation, if any."""
    by_samples = (cases["runs"] == 1) | (cases["runs"] >= MIN_TO_RESAMPLE)
    correlated = by_samples & (cases["effective_measurements"].astype(float) < cases["measurements"].astype(float))
    if correlated.any():
        counted = plural(correlated.sum(), "case")
        console.print(
            f"The measurements of {counted} are autocorrelated: their intervals use the effective number of "
            "measurements (column effective_measurements of --csv).",
            soft_wrap=True,
        )
