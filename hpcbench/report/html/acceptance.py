"""The verdicts of `accept` on the page."""

from __future__ import annotations

from hpcbench.analysis.acceptance import NOT_MEASURED, WORST_FIRST, Check
from hpcbench.analysis.results import Results
from hpcbench.report.html import page_model
from hpcbench.report.text.acceptance import RULE, interval_of, labels, note_of, reason_of, summary, value_of
from hpcbench.util.text import plural

MAX_CHECKS = 200
_HEADINGS = (
    *(page_model.Heading(title, numeric=False) for title in ("case", "verdict", "quantity")),
    *(page_model.Heading(title) for title in ("value", "95 % CI", "n", "required")),
    page_model.Heading("note", numeric=False),
)


def acceptance_of(results: Results) -> page_model.Aggregates | None:
    """Return a table with a row per condition and case, worst verdict first; None without conditions."""
    found = sorted(results.acceptance, key=lambda check: WORST_FIRST.index(check.verdict))
    if not found:
        return None
    names = labels(results)
    rows = tuple(page_model.TableRow((names[check.sweep, check.case], *_cells(check))) for check in found[:MAX_CHECKS])
    left = len(found) - MAX_CHECKS
    note = f"and {plural(left, 'more condition')}, in the table below" if left > 0 else ""
    table = page_model.Ranking(plural(len(found), "condition"), _HEADINGS, rows, note)
    return page_model.Aggregates(f"Acceptance: {summary(results.acceptance)}", RULE, (table,), "Acceptance")


def _cells(check: Check) -> tuple[str, ...]:
    quantity, condition = check.required.quantity, str(check.required.condition)
    if check.verdict == NOT_MEASURED:
        return (check.verdict, quantity.title, "-", "", str(check.runs), condition, reason_of(check))
    value, limits, note = value_of(check), interval_of(check), note_of(check)
    return (check.verdict, quantity.title, value, limits, str(check.runs), condition, note)
