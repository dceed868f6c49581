"""How long the runs of each case took."""

from __future__ import annotations

import datetime

from hpcbench.status.progress import Progress
from hpcbench.store.records import Record


def longest_s(progress: Progress) -> dict[str, float]:
    """Return the seconds of the longest run of each case that has run, from the start of its first rank to its record.

    Records without an attempt do not count: their job left none, and they do not say when the run ended.
    """
    found: dict[str, float] = {}
    for run in progress.runs:
        for record in run.attempts:
            if record["ranks"] and record["attempt"] is not None:
                case = run.planned.case_id
                found[case] = max(found.get(case, 0.0), _seconds(record))
    return found


def _seconds(record: Record) -> float:
    start, end = (datetime.datetime.fromisoformat(record[name]) for name in ("started_at", "ended_at"))
    return max(0.0, (end - start).total_seconds())
