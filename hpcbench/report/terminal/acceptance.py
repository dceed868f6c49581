"""The verdicts of `accept` on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from hpcbench.analysis.acceptance import ACCEPTED, NOT_MEASURED, WORST_FIRST, Check
from hpcbench.analysis.results import Results
from hpcbench.report.text.acceptance import labels, reason_of, sentence, summary

MAX_LINES = 10


def print_acceptance(results: Results, console: Console) -> None:
    """Print how many cases are accepted, then the others, and those whose CI contains the threshold, worst first.

    With a single case, its conditions are printed in any case.
    """
    found = results.acceptance
    if not found:
        return
    console.print(Text(f"accept: {summary(found)}"), soft_wrap=True)
    is_single = len(results.cases) == 1
    shown = [check for check in found if is_single or check.verdict != ACCEPTED or check.is_close]
    names = {} if is_single else labels(results)
    lines = dict.fromkeys(
        (check.verdict, names.get((check.sweep, check.case), ""), _text(check, shown))
        for check in sorted(shown, key=lambda check: WORST_FIRST.index(check.verdict))
    )
    for verdict, name, text in list(lines)[:MAX_LINES]:
        style = "green" if verdict == ACCEPTED else "red"
        console.print(Text.assemble((verdict, style), f" {name}" if name else "", f": {text}"), soft_wrap=True)
    if len(lines) > MAX_LINES:
        console.print(f"... and {len(lines) - MAX_LINES:,} more: --csv or --html FILE")


def _text(check: Check, shown: list[Check]) -> str:
    """Return the sentence on a check; for one without a value, all quantities that its case lacks for this reason."""
    if check.verdict != NOT_MEASURED:
        return sentence(check)
    alike = [each for each in shown if _lacks(each) == _lacks(check)]
    names = dict.fromkeys(each.required.quantity.title for each in alike)
    return f"{', '.join(names)} ({reason_of(check)})"


def _lacks(check: Check) -> tuple[str, ...]:
    return (check.sweep, check.case, check.verdict, check.reason)
