"""The state of a search: ended, running in a job or in another hpcbench, or interrupted."""

from __future__ import annotations

from typing import NamedTuple

from hpcbench.slurm.client import using
from hpcbench.slurm.search_job import searching
from hpcbench.store.journal import Journal, lock_of
from hpcbench.store.sweep import Sweep
from hpcbench.util.locking.lease import is_held


class SearchState(NamedTuple):
    """A description of the state, with the next command, and whether the search continues without one."""

    words: str
    goes_on: bool = False


def has_ended(sweep: Sweep) -> bool:
    """Return whether a search has saved its result. Any other sweep counts as ended."""
    return sweep.tuning is None or sweep.paths.findings.is_file()


def search_state(sweep: Sweep) -> SearchState:
    """Return the state of a search, by the slurm.conf of its site. Raise UserError if squeue does not respond."""
    name = sweep.paths.name
    ended = SearchState(f"ended; for its result: hpcbench resume {name}")
    if has_ended(sweep):
        return ended
    with using(sweep.slurm_conf):
        jobs = searching(sweep, Journal.read(sweep.paths)) if sweep.is_searched_by_job else {}
    if jobs:
        words = "; ".join(f"job {job} is {entry.in_words}" for job, entry in jobs.items())
        return SearchState(words, not all(entry.waits_for_ever for entry in jobs.values()))
    if is_held(lock_of(sweep.paths.jobs)):
        return SearchState("running", True)
    if has_ended(sweep):  # in the meantime
        return ended
    return SearchState(f"interrupted; to continue: hpcbench resume {name}")
