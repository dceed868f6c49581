"""The job of a search in the queue."""

from __future__ import annotations

from hpcbench.slurm.client import NoAnswerError
from hpcbench.slurm.job_entry import JobEntry
from hpcbench.slurm.job_lookup import look_up
from hpcbench.slurm.queue import COMPLETING, SEARCH, query
from hpcbench.slurm.sweep_cluster import check_cluster
from hpcbench.store.journal import Journal
from hpcbench.store.sweep import Sweep


def searching(sweep: Sweep, journal: Journal) -> dict[str, JobEntry]:
    """Return the active jobs of a search by their IDs, without those that are completing.

    Jobs of this user that squeue does not list are asked for one by one. Raise NoAnswerError if squeue fails, or if it
    is unknown whether one of them has ended, and UserError if Slurm's commands reach another cluster than that of the
    sweep.
    """
    check_cluster(sweep, journal)
    found = query(sweep, journal, jobs=[SEARCH])
    if found.complaint:
        raise NoAnswerError(found.complaint)
    entries = {array: entry for (array, _), entry in found.entries.items()}
    for batch in journal.accepted:
        if batch.job == SEARCH and batch.ours and batch.slurm_id is not None and batch.slurm_id not in entries:
            answer = look_up(batch.slurm_id, sweep.other_cluster)
            if answer.entry is not None:
                entries[batch.slurm_id] = answer.entry
            elif not answer.is_unknown:
                raise NoAnswerError(f"whether job {batch.slurm_id} has ended is unknown: {answer.words}")
    return {array: entry for array, entry in entries.items() if not entry.ended and entry.state != COMPLETING}
