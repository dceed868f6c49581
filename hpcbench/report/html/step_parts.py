"""The parts of training steps on the page."""

from __future__ import annotations

from hpcbench.analysis.results import Results
from hpcbench.report.html import page_model
from hpcbench.report.text.step_parts import RULE, TITLE, parts_columns, parts_of
from hpcbench.util.text import plural

MAX_ROWS = 200


def step_parts_of(results: Results) -> page_model.Aggregates | None:
    """Return a table with a row per training step; None if no cases allow any."""
    parts = parts_of(results)
    if parts.empty:
        return None
    columns = parts_columns(results, parts.head(MAX_ROWS))
    headings = tuple(page_model.Heading(column.header, not column.is_text) for column in columns)
    rows = tuple(map(page_model.TableRow, zip(*(column.cells for column in columns), strict=True)))
    left = len(parts) - MAX_ROWS
    note = f"and {left:,} more: --json" if left > 0 else ""
    table = page_model.Ranking(plural(len(parts), "training step"), headings, rows, note)
    return page_model.Aggregates(TITLE, RULE, (table,), TITLE)
