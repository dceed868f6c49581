"""The tables of training on the page: parts of a step, and accuracy after equal epochs."""

from __future__ import annotations

from collections.abc import Sequence

from hpcbench.analysis.results import Results
from hpcbench.report.html import page_model
from hpcbench.report.text.text_columns import Column
from hpcbench.report.text.training import equal_epochs, step_parts
from hpcbench.util.text import plural

MAX_ROWS = 200


def step_parts_of(results: Results) -> page_model.Aggregates | None:
    """Return a table with a row per training step; None if no cases allow any."""
    parts = step_parts.parts_of(results)
    if parts.empty:
        return None
    columns = step_parts.parts_columns(results, parts.head(MAX_ROWS))
    table = _table(plural(len(parts), "training step"), columns, len(parts))
    return page_model.Aggregates(step_parts.TITLE, step_parts.RULE, (table,), step_parts.TITLE)


def equal_epochs_of(results: Results) -> page_model.Aggregates | None:
    """Return a table with a row per training on several ranks and on one; None if no cases allow any."""
    rows = equal_epochs.equal_epochs_of(results)
    if rows.empty:
        return None
    columns = equal_epochs.equal_epochs_columns(results, rows.head(MAX_ROWS))
    table = _table(plural(len(rows), "comparison"), columns, len(rows))
    return page_model.Aggregates(equal_epochs.TITLE, equal_epochs.RULE, (table,), equal_epochs.TITLE)


def _table(title: str, columns: Sequence[Column], count: int) -> page_model.Ranking:
    headings = tuple(page_model.Heading(column.header, not column.is_text) for column in columns)
    rows = tuple(map(page_model.TableRow, zip(*(column.cells for column in columns), strict=True)))
    left = count - MAX_ROWS
    return page_model.Ranking(title, headings, rows, f"and {left:,} more: --json" if left > 0 else "")
