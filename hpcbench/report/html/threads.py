"""The comparison of thread modes on the page."""

from __future__ import annotations

from hpcbench.analysis.results import Results
from hpcbench.analysis.studies.guideline_transfer import guideline_test
from hpcbench.analysis.studies.threads import contexts_of
from hpcbench.report.html import page_model
from hpcbench.report.terminal.threads import columns_of, sentences
from hpcbench.util.text import plural

MAX_CONTEXTS = 200


def threads_of(results: Results) -> page_model.Aggregates | None:
    """Return a table of thread modes with a row per context; None without several thread modes."""
    contexts = contexts_of(results)
    if not contexts:
        return None
    columns = columns_of(contexts[:MAX_CONTEXTS], guideline_test(results))
    headings = tuple(page_model.Heading(column.header, not column.is_text) for column in columns)
    rows = zip(*(column.cells for column in columns), strict=True)
    left = len(contexts) - MAX_CONTEXTS
    note = f"and {plural(left, 'more context')}" if left > 0 else ""
    table = page_model.Ranking(
        plural(len(contexts), "context"), headings, tuple(page_model.TableRow(cells) for cells in rows), note
    )
    return page_model.Aggregates("Threads by mode", " ".join(sentences(results)), (table,), "Threads")
