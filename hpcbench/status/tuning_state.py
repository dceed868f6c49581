"""How a search stands: whether it has ended, or somebody looks for an answer."""

from __future__ import annotations

from typing import NamedTuple

from hpcbench.slurm.queue import searching
from hpcbench.store.journal import Journal, lock_of
from hpcbench.store.sweep import Sweep
from hpcbench.util.locking.lease import is_held


class SearchState(NamedTuple):
    """`words` also tell the command that goes on. `goes_on` says that more will happen by itself."""

    words: str
    goes_on: bool = False


def has_ended(sweep: Sweep) -> bool:
    """Whether it has said what it found; so of every sweep that is no search."""
    return sweep.tuning is None or sweep.paths.findings.is_file()


def search_state(sweep: Sweep) -> SearchState:
    """Raises UserError where squeue does not answer."""
    name = sweep.paths.name
    if has_ended(sweep):
        return SearchState(f"ended; what it found: hpcbench resume {name}")
    jobs = searching(name, Journal.read(sweep.paths)) if sweep.is_searched_by_job else {}
    if jobs:
        words = "; ".join(f"job {job} is {entry.in_words}" for job, entry in jobs.items())
        return SearchState(words, not all(entry.waits_for_ever for entry in jobs.values()))
    if is_held(lock_of(sweep.paths.jobs)):
        return SearchState("an hpcbench searches", True)
    return SearchState(f"not ended, and nobody searches; go on with: hpcbench resume {name}")
