"""The counts of all tests that do something to a sweep, added up at the end of the run, of every worker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

COUNTED = ("runs", "lost", "double", "hung")


def summary(reports: Iterable[Any]) -> str | None:
    """One line; None where no such test has run."""
    tallies = [value for report in reports for name, value in report.user_properties if name == "fault"]
    if not tallies:
        return None
    total: Counter[str] = Counter()
    for tally in tallies:
        total.update({name: tally[name] for name in COUNTED})
    return f"{len(tallies)} sweeps met a fault: " + ", ".join(f"{total[name]} {name}" for name in COUNTED)
