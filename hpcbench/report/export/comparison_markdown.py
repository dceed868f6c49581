"""A comparison as Markdown for a comment on a pull request: verdicts, what changed, and the rest folded."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from hpcbench.analysis.cases.labels import telling_apart
from hpcbench.analysis.stats.equivalence import SAME
from hpcbench.analysis.studies.comparison import FAILING, Comparison
from hpcbench.report.export.markdown import in_markdown, markdown_table
from hpcbench.report.terminal.comparison import Metrics, columns_of, named, notes, summary, verdicts_in_words
from hpcbench.util.text import plural


def comparison_markdown(comparison: Comparison, candidates: list[str], metrics: Metrics, top: int) -> str:
    """Return GitHub-flavoured Markdown with at most `top` rows of each kind; `candidates` identify cases.

    Rows that changed come first, worst first; rows without a ratio follow with their reason, and unchanged rows are
    folded.
    """
    rows = comparison.rows
    shown = telling_apart(rows, candidates)
    sweeps = f"{in_markdown(comparison.new)} (NEW) compared to {in_markdown(comparison.base)} (BASE)"
    has_ratio, is_same = rows["ratio"].notna(), rows["verdict"] == SAME
    lines = [
        f"**{verdicts_in_words(comparison)}**: {sweeps}",
        *_table(rows[has_ratio & ~is_same], shown, metrics, top),
        *_reasons(rows[~has_ratio], shown, metrics, top),
        *_folded(rows[has_ratio & is_same], shown, metrics, top),
        "",
        in_markdown(summary(comparison)),
        "",
        *(f"- {in_markdown(f'{level}: {text}' if level else text)}" for level, text in notes(comparison)),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _table(rows: pd.DataFrame, shown: list[str], metrics: Metrics, top: int) -> Iterator[str]:
    if len(rows):
        yield ""
        yield from markdown_table(columns_of(rows.head(top), shown, metrics))
        yield from _omitted(len(rows) - top)


def _reasons(rows: pd.DataFrame, shown: list[str], metrics: Metrics, top: int) -> Iterator[str]:
    if len(rows):
        failing = rows["verdict"].isin(FAILING)
        yield ""
        for _, row in pd.concat([rows[failing], rows[~failing]]).head(top).iterrows():
            yield f"- **{row['verdict']}** {in_markdown(named(row, shown, metrics))}: {in_markdown(row['reason'])}"
        yield from _omitted(len(rows) - top)


def _folded(rows: pd.DataFrame, shown: list[str], metrics: Metrics, top: int) -> Iterator[str]:
    if len(rows):
        yield ""
        yield f"<details><summary>{plural(len(rows), 'comparison')} without a change</summary>"
        yield from _table(rows, shown, metrics, top)
        yield ""
        yield "</details>"


def _omitted(count: int) -> Iterator[str]:
    if count > 0:
        yield ""
        yield f"... and {plural(count, 'more row')}"
