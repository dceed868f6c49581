"""Sentences on the cases that were not validated, or only in part: the reasons, grouped; also for other reasons."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pandas as pd

from hpcbench.analysis.results import Results
from hpcbench.core.status import COMPLETED
from hpcbench.core.validation.result import NOT_VALIDATED
from hpcbench.util.text import plural

MAX_REASONS = 3
_NUMBER = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?")


def not_validated_notes(results: Results) -> Iterator[str]:
    """Yield why cases, or the updates of the optimizer, are not validated: the most frequent reasons, with case counts.

    Failed runs have other sentences.
    """
    rows = results.repetitions
    if not {"validation", "update_reason"} <= set(rows):  # a table without runs
        return
    rows = rows[rows["status"] == COMPLETED]
    missing = rows[rows["validation"] == NOT_VALIDATED]
    if len(missing):
        yield f"Not validated: {_of(missing, rows, 'validation')}; {grouped_reasons(missing, 'validation_reason')}."
    uncompared = rows[rows["update_reason"].notna()]
    if len(uncompared):
        of = _of(uncompared, rows, "update_steps")
        reasons = grouped_reasons(uncompared, "update_reason")
        yield f"Updates of the optimizer not compared in all steps: {of}; {reasons}."


def _of(some: pd.DataFrame, rows: pd.DataFrame, column: str) -> str:
    """Return the number of cases of some rows, and of those with a value in a column."""
    return f"{some['case'].nunique():,} of {plural(rows['case'][rows[column].notna()].nunique(), 'case')}"


def grouped_reasons(rows: pd.DataFrame, column: str) -> str:
    """Return the most frequent reasons in a column of runs, each with the number of its cases.

    Reasons that differ only in their numbers are one, and the first of them is shown.
    """
    groups: dict[str, tuple[str, set[object]]] = {}
    for case, reason in zip(rows["case"], rows[column], strict=True):
        text = reason if isinstance(reason, str) and reason else "the record has no reason"
        groups.setdefault(_NUMBER.sub("#", text), (text, set()))[1].add(case)
    ordered = sorted(groups.values(), key=lambda group: -len(group[1]))
    shown = "; ".join(f"{text} ({plural(len(cases), 'case')})" for text, cases in ordered[:MAX_REASONS])
    more = len(ordered) - MAX_REASONS
    return f"{shown}; {plural(more, 'other reason')}" if more > 0 else shown
