"""How the runs of a sweep ended, by the beginnings of its record lines, which are not decoded; without Slurm."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from hpcbench.core.status import COMPLETED, STATUSES
from hpcbench.store.records import record_files
from hpcbench.store.sweep import Sweep
from hpcbench.util.bounded_read import lines

NO_RESULT = "without result"  # not submitted, pending, running, or ended without a record
# In a JSON string, quotes are escaped: the text of an error or a parameter does not match.
_STATUS = re.compile(rb'"status":"(\w+)"')
_RUN = re.compile(rb'"job":"([^"]+)","element":(\d+)')


def run_states(sweep: Sweep) -> dict[str, int]:
    """Return the number of runs by status, and of those without a record. A run that completed once is completed.

    Raise OSError if a file cannot be read.
    """
    found: dict[tuple[bytes, bytes], str] = {}
    for path in record_files(sweep.paths):
        with path.open("rb") as file:
            for line in lines(file):
                status, run = _STATUS.search(line), _RUN.search(line)
                if status and run and found.get((run[1], run[2])) != COMPLETED:
                    found[run[1], run[2]] = status[1].decode()
    counts = Counter(found.values())
    planned = sum(_count_lines(sweep.paths.runs(job)) for job in sweep.job_names)
    counts[NO_RESULT] = max(0, planned - len(found))
    return {state: counts[state] for state in (*STATUSES, NO_RESULT) if counts[state]}


def _count_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")
