"""Durations of the runs of each case."""

from __future__ import annotations

import datetime

from hpcbench.core.record import Record
from hpcbench.status.progress import Progress


def longest_s(progress: Progress) -> dict[str, float]:
    """Return the duration of the longest run of each case in seconds, from the start of the first rank to the record.

    Records without an attempt do not count: hpcbench wrote them later, and they do not contain the end of the run.
    """
    found: dict[str, float] = {}
    for run in progress.runs:
        for record in run.attempts:
            if record.ranks and record.attempt is not None:
                case = run.planned.case_id
                found[case] = max(found.get(case, 0.0), _seconds(record))
    return found


def _seconds(record: Record) -> float:
    start, end = map(datetime.datetime.fromisoformat, (record.started_at, record.ended_at))
    return max(0.0, (end - start).total_seconds())
