"""The results on a terminal: the answer, the cases best first, what did not complete; plain text in a pipe."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
from rich.console import Console
from rich.text import Text

from hpcbench.analysis.cases.case_table import differing_work
from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.analysis.results import Results
from hpcbench.analysis.stats.intervals import FEWEST_TO_RESAMPLE
from hpcbench.analysis.studies.best_case import answers
from hpcbench.report.text.bars import bar, shows_blocks
from hpcbench.report.text.best_case_sentence import sentence
from hpcbench.report.text.failures import failures_of
from hpcbench.report.text.omitted_rows import say_more
from hpcbench.report.text.ranking import columns_of
from hpcbench.report.text.text_columns import Column, as_table, fitting
from hpcbench.util.text import plural

MOST_ANSWERS = 6
MOST_FAILURES = 4  # kinds
MOST_INSIGHTS = 3
_BAR, _FIRST = 10, 9  # characters; before all others


def print_report(results: Results, top: int, console: Console, *, answered: bool = False) -> None:
    """The answers, unless all is `answered`, the ranked cases, the first `top` of each kind of work, and what else to
    know of them."""
    if not answered:
        _print_answers(results, console)
    for work in results.works:
        console.print(Text(work.title, style="italic"), soft_wrap=True)
        best = replace(work, cases=work.cases.head(top))
        columns = columns_of(best, results.quantity, results.metrics)
        columns.append(_bars(best.cases, results.quantity, console))
        console.print(as_table(fitting(columns, console.width)))
        say_more(len(work.cases) - top, console, "--csv")
    cases = results.cases
    for warning, count in cases["warnings"].value_counts().items():
        counted = f" ({count} cases)" if count > 1 else ""
        console.print(Text.assemble(("warning", "yellow"), f": {warning}{counted}"), soft_wrap=True)
    _say_of_autocorrelation(cases, console)
    if len(results.works) > 1:
        differing = ", ".join(differing_work(cases))
        console.print(f"Ranked apart, because their work differs in: {differing}.", soft_wrap=True)
    _print_failures(results, console)


def print_insights(insights: list[str], console: Console) -> None:
    """What makes the difference, the strongest first."""
    for insight in insights[:MOST_INSIGHTS]:
        console.print(Text(insight), soft_wrap=True)
    if len(insights) > MOST_INSIGHTS:
        console.print(f"... and {len(insights) - MOST_INSIGHTS} more such: --html FILE")


def _bars(cases: pd.DataFrame, quantity: Quantity, console: Console) -> Column:
    """How good each case is, beside the best; the first that gives way where there is no room."""
    values = cases[quantity.column].astype(float)
    shares = values / values.max() if quantity.more_is_better else values.min() / values
    plain = not shows_blocks(console)
    cells = tuple(bar(share, _BAR, plain=plain).ljust(_BAR) for share in shares)
    return Column("", cells, gives_way=_FIRST, is_text=True)


def _print_answers(results: Results, console: Console) -> None:
    """A sentence for each kind of work, which it names where there are several."""
    found = answers(results)
    for answer in found[:MOST_ANSWERS]:
        work = f"{answer.work.short_title}: " if len(found) > 1 else ""
        console.print(Text.assemble((work, "italic"), (sentence(answer), "bold")), soft_wrap=False)
    if len(found) > MOST_ANSWERS:
        console.print(
            f"... and {plural(len(found) - MOST_ANSWERS, 'more kind')} of work; each table below has its best first"
        )


def _print_failures(results: Results, console: Console) -> None:
    """One line for each kind of failure: how many cases, which, and why."""
    found = failures_of(results)
    for failure in found[:MOST_FAILURES]:
        console.print(Text.assemble((failure.status, "red"), f" {failure.in_words}"), soft_wrap=True)
    if len(found) > MOST_FAILURES:
        more = sum(len(failure.cases) for failure in found[MOST_FAILURES:])
        console.print(f"... and {more:,} more for other reasons: hpcbench status, or --html FILE")


def _say_of_autocorrelation(cases: pd.DataFrame, console: Console) -> None:
    """Whose intervals it widens. Those of two to five repetitions rest on their medians alone."""
    by_samples = (cases["repetitions"] == 1) | (cases["repetitions"] >= FEWEST_TO_RESAMPLE)
    correlated = by_samples & (cases["effective_samples"].astype(float) < cases["samples"].astype(float))
    if correlated.any():
        counted = plural(correlated.sum(), "case")
        console.print(
            f"Samples of {counted} are autocorrelated: the interval takes them for fewer ones that are independent; "
            "the column effective_samples of --csv says for how many.",
            soft_wrap=True,
        )
