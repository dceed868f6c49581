"""How long the repetitions of each case took, as far as any has run."""

from __future__ import annotations

import datetime

from hpcbench.status.progress import Progress
from hpcbench.store.records import Record


def longest_s(progress: Progress) -> dict[str, float]:
    """Seconds of the longest repetition of each case that has run, from its first rank's start to its record.

    A record that was made up later does not tell when the repetition ended.
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
