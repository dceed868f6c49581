"""Sentences on published times: where they are from, and how they differ from the measured ones."""

from __future__ import annotations

from collections.abc import Iterator

from hpcbench.analysis.cases.published import published_columns
from hpcbench.analysis.results import Results
from hpcbench.util.text import plural


def published_notes(results: Results) -> Iterator[str]:
    """Yield the sentences, if the report has published times."""
    file, columns = results.published_in, published_columns(results.cases)
    if not file:
        return
    if not columns:
        yield f"No case has a published time in {file}. Operator, sizes and phase must match."
        return
    matched = int(results.cases[columns].notna().any(axis="columns").sum())
    yield f"Published times of {matched:,} of {plural(len(results.cases), 'case')} are from {file}."
