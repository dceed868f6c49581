"""Durations of the runs of each case."""

from __future__ import annotations

from hpcbench.status.progress import Progress
from hpcbench.store.records import span_s


def longest_s(progress: Progress) -> dict[str, float]:
    """Return the duration of the longest run of each case in seconds, from the start of the first rank to the record.

    Records without an attempt do not count: hpcbench wrote them later, and they do not contain the end of the run.
    """
    found: dict[str, float] = {}
    for run in progress.runs:
        for record in run.attempts:
            if record.ranks and record.attempt is not None:
                case = run.planned.case_id
                start_s, end_s = span_s(record)
                found[case] = max(found.get(case, 0.0), end_s - start_s)
    return found
