"""A sentence on the cases that were to be validated, but are not: the reasons, grouped."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hpcbench.analysis.results import Results
from hpcbench.core.status import COMPLETED
from hpcbench.core.validation.result import NOT_VALIDATED
from hpcbench.util.text import plural

MAX_REASONS = 3
_NUMBER = re.compile(r"\d+(\.\d+)?(e[+-]?\d+)?")


def not_validated_notes(results: Results) -> Iterator[str]:
    """Yield why cases are not validated: the most frequent reasons, each with the number of its cases.

    Reasons that differ only in their numbers are one, and the first of them is shown. Failed runs have other sentences.
    """
    rows = results.repetitions
    if "validation" not in rows:  # a table without runs
        return
    rows = rows[rows["status"] == COMPLETED]
    missing = rows[rows["validation"] == NOT_VALIDATED]
    if missing.empty:
        return
    groups: dict[str, tuple[str, set[object]]] = {}
    for case, reason in zip(missing["case"], missing["validation_reason"], strict=True):
        text = reason if isinstance(reason, str) and reason else "the record has no reason"
        groups.setdefault(_NUMBER.sub("#", text), (text, set()))[1].add(case)
    ordered = sorted(groups.values(), key=lambda group: -len(group[1]))
    of = f"{missing['case'].nunique():,} of {plural(rows['case'][rows['validation'].notna()].nunique(), 'case')}"
    shown = "; ".join(f"{text} ({plural(len(cases), 'case')})" for text, cases in ordered[:MAX_REASONS])
    more = len(ordered) - MAX_REASONS
    yield f"Not validated: {of}. {shown}" + (f"; {plural(more, 'other reason')}." if more > 0 else ".")
