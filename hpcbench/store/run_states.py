"""How the runs of a sweep ended, by its records, without Slurm. The lines are decoded only after `hpcbench reparse`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hpcbench.core.status import COMPLETED, STATUSES
from hpcbench.store.records import read_records, record_files
from hpcbench.store.sweep import Sweep
from hpcbench.util.bounded_read import lines

RunKey = tuple[bytes, bytes]  # job and element
NO_RESULT = "without result"  # not submitted, pending, running, or ended without a record
# In a JSON string, quotes are escaped: the text of an error or a parameter does not match.
_STATUS = re.compile(rb'"status":"(\w+)"')
_RUN = re.compile(rb'"job":"([^"]+)","element":(\d+)')


def run_states(sweep: Sweep) -> dict[str, int]:
    """Return the number of runs by status, and of those without a record. A run that completed once is completed.

    Raise OSError if a file cannot be read.
    """
    found: dict[RunKey, str] = {}
    for run, status in _reparsed(sweep) if sweep.paths.reparsed.exists() else _recorded(sweep):
        if found.get(run) != COMPLETED:
            found[run] = status
    counts = Counter(found.values())
    planned = sum(_count_lines(sweep.paths.runs(job)) for job in sweep.job_names)
    counts[NO_RESULT] = max(0, planned - len(found))
    return {state: counts[state] for state in (*STATUSES, NO_RESULT) if counts[state]}


def _recorded(sweep: Sweep) -> Iterator[tuple[RunKey, str]]:
    """Yield job, element and status of each record."""
    for path in record_files(sweep.paths):
        with path.open("rb") as file:
            for line in lines(file):
                status, run = _STATUS.search(line), _RUN.search(line)
                if status and run:
                    yield (run[1], run[2]), status[1].decode()


def _reparsed(sweep: Sweep) -> Iterator[tuple[RunKey, str]]:
    """Yield job, element and status of each record, with the statuses that `hpcbench reparse` has changed."""
    for record in read_records(sweep.paths).records:
        yield (record.job.encode(errors="replace"), b"%d" % record.element), record.status


def _count_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")
