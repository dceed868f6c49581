"""Execute one run on this machine, from its start to its record."""

from __future__ import annotations

from hpcbench.core.record import Record
from hpcbench.status.progress import RunProgress
from hpcbench.status.reconcile import reconcile_local
from hpcbench.store.records import best_attempt, in_order, read_file
from hpcbench.store.sweep import Sweep
from hpcbench.submit.local_executor import LocalExecutor


def run_repetition(sweep: Sweep, run: RunProgress, executor: LocalExecutor) -> tuple[Record, list[Record]]:
    """Execute one run; return the record that counts, and the records of its new attempts.

    If the driver of the job leaves no record, save one. Raise OSError if the log or the record cannot be written.
    """
    path = sweep.paths.local_records(run.job)
    before = path.stat().st_size if path.exists() else 0
    was_too_late = executor.run(run.job, run.element, sweep.limit_s(run.job))
    new = [record for record in read_file(path, before) if record.element == run.element]
    best = best_attempt(in_order([*run.attempts, *new]))
    if best is not None and new:
        return best, new
    made_up = reconcile_local(sweep, run.job, run.element, run.planned, was_too_late)
    return made_up, [made_up]
