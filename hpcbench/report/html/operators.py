"""The profiles of operators on the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hpcbench.analysis.profiles.step_profile import StepProfile
from hpcbench.analysis.results import Results
from hpcbench.report.html import page_model
from hpcbench.report.terminal.operators import kinds_of, longest_of, sentences, title_of
from hpcbench.report.text.text_columns import Column
from hpcbench.util.text import plural

MAX_PROFILES = 24
_RULE = (
    "The time of an operator is that of calls in a stream, if it was timed alone, and otherwise its time inside the "
    "network."
)


def operators_of(results: Results) -> page_model.Aggregates | None:
    """Return tables of the kinds of operators and of the longest operators of each case; None without a profile."""
    profiles = results.profiles
    if not profiles:
        return None
    tables = tuple(table for profile in profiles[:MAX_PROFILES] for table in _tables(profile, results))
    left = len(profiles) - MAX_PROFILES
    about = f"{_RULE} The first {MAX_PROFILES} of {plural(len(profiles), 'profile')}." if left > 0 else _RULE
    return page_model.Aggregates("Time and energy by operator", about, tables, "Operators")


def _tables(profile: StepProfile, results: Results) -> Iterator[page_model.Ranking]:
    title = title_of(profile, results)
    note = " ".join(sentences(profile))
    yield _table(f"{title}, by kind", kinds_of(profile), "")
    yield _table(f"{title}, the longest operators", longest_of(profile), note)


def _table(title: str, columns: Sequence[Column], note: str) -> page_model.Ranking:
    headings = tuple(page_model.Heading(column.header, not column.is_text) for column in columns)
    rows = zip(*(column.cells for column in columns), strict=True)
    return page_model.Ranking(title[:1].upper() + title[1:], headings, tuple(map(page_model.TableRow, rows)), note)
