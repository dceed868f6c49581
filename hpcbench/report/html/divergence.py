"""The divergence of trainings on the page."""

from __future__ import annotations

from hpcbench.analysis.results import Results
from hpcbench.report.html import page_model
from hpcbench.report.text.training.divergence import RULE, TITLE, divergence_columns
from hpcbench.util.text import plural


def divergences_of(results: Results) -> page_model.Aggregates | None:
    """Return a table with a row per pair of trainings; None if no trajectories were recorded."""
    pairs = results.divergences
    if not pairs:
        return None
    columns = divergence_columns(results, pairs)
    headings = tuple(page_model.Heading(column.header, not column.is_text) for column in columns)
    rows = tuple(map(page_model.TableRow, zip(*(column.cells for column in columns), strict=True)))
    table = page_model.Ranking(plural(len(pairs), "pair"), headings, rows)
    return page_model.Aggregates(TITLE, RULE, (table,), TITLE)
