"""The job of a search in the queue."""

from __future__ import annotations

from hpcbench.slurm.client import NoAnswerError
from hpcbench.slurm.job_entry import JobEntry
from hpcbench.slurm.queue import COMPLETING, SEARCH, query
from hpcbench.slurm.sweep_cluster import check_cluster
from hpcbench.store.journal import Journal
from hpcbench.store.sweep import Sweep


def searching(sweep: Sweep, journal: Journal) -> dict[str, JobEntry]:
    """Return the active jobs of a search by their IDs, without those that are completing.

    Raise NoAnswerError if squeue fails, or does not list everything, and UserError if its commands reach another
    cluster than that of the sweep.
    """
    check_cluster(sweep, journal)
    found = query(sweep, journal, jobs=[SEARCH])
    if found.complaint:
        raise NoAnswerError(found.complaint)
    return {
        array: entry for (array, _), entry in found.entries.items() if not entry.ended and entry.state != COMPLETING
    }
