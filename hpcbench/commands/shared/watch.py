"""Watch the jobs of a sweep until they have ended: for status --watch, sweep --wait and resume --wait."""

from __future__ import annotations

import datetime
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from hpcbench.commands.shared.displays import Display, display_on
from hpcbench.core.status import COMPLETED, NEVER_STARTED
from hpcbench.report.terminal.status import counted
from hpcbench.slurm.client import NoAnswerError
from hpcbench.status.fails_again import how_to_continue
from hpcbench.status.progress import ACTIVE, UNKNOWN, Progress
from hpcbench.status.reconcile import reconcile
from hpcbench.status.tuning_state import SearchState, has_ended, search_state
from hpcbench.store.journal import lock_of
from hpcbench.store.sweep import Sweep
from hpcbench.util.console import err
from hpcbench.util.locking.lease import is_held
from hpcbench.util.text import plural

FIRST_S, BUSY_S, LONGEST_S = 2.0, 10.0, 60.0  # between two queries: minimum, maximum during changes, maximum
LATE = 0.1  # maximum delay of a change on the display, as a fraction of the time since the previous one
LAG_S = 300.0  # until the accounting has the end of a job
SHARE = 0.1  # maximum fraction of the time for queries


def pause_s(waited_s: float, quiet_s: float, asking_s: float) -> float:
    """Return the seconds until the next query of Slurm, after `waited_s` in total and `quiet_s` since the last change.

    The last query took `asking_s`: a slow Slurm is queried less often.
    """
    busy_s = min(LATE * waited_s, BUSY_S)
    return min(max(FIRST_S, busy_s, LATE * quiet_s, asking_s / SHARE), LONGEST_S)


def wait_for(sweep: Sweep) -> int:
    """Watch on stderr; return 0 if all runs completed with all metrics, otherwise 1."""
    return watch(sweep, display_on(err))


def watch(sweep: Sweep, display: Display) -> int:
    """Show a sweep until it no longer changes.

    Return 0 if all runs completed with all metrics, or if a search has a result for each context; otherwise 1.
    """
    with _farewell(sweep), display:
        progress = _watch(sweep, display)
    if sweep.tuning is not None:
        err.print(f"{sweep.paths.name}: {_state(sweep).words}", soft_wrap=True, markup=False)
        return int(not _is_answered(sweep))
    status = int(not all(run.is_complete for run in progress.runs))
    if status:
        err.print(_left(progress), soft_wrap=True, markup=False)
    return status


def wait_for_search(sweep: Sweep) -> None:
    """Watch the job of a search on stderr until it has ended or will never start."""
    display = display_on(err)
    with _farewell(sweep), display:
        _watch(sweep, display)
    if not has_ended(sweep):
        err.print(_state(sweep).words, soft_wrap=True, markup=False)


def _watch(sweep: Sweep, display: Display) -> Progress:
    began_s = changed_s = time.monotonic()
    counts: dict[str, int] = {}
    shown = ""
    warned: set[str] = set()
    idle = False
    while True:
        asked_s = time.monotonic()
        progress = _reconciled(sweep, display)
        now_s = time.monotonic()
        if progress.counts() != counts:
            counts, changed_s = progress.counts(), now_s
        for warning in set(progress.warnings) - warned:
            display.report(f"warning: {warning}")
            warned.add(warning)
        search = _state(sweep)
        if search.goes_on and search.words != shown:
            shown = search.words
            display.report(shown)
        pause = pause_s(now_s - began_s, now_s - changed_s, now_s - asked_s)
        display.show(progress, datetime.datetime.now().astimezone(), pause)
        if all(run.ended for run in progress.runs) and has_ended(sweep):
            return progress
        under_way = search.goes_on or is_under_way(progress, now_s - changed_s)
        if idle and not under_way:
            return progress
        idle = not under_way  # query again: another hpcbench may just have submitted jobs
        time.sleep(FIRST_S if idle else pause)


def is_under_way(progress: Progress, quiet_s: float) -> bool:
    """Return whether the sweep may still change, if nothing has changed for `quiet_s` seconds."""
    states = {run.state for run in progress.runs}
    lags = UNKNOWN in states and quiet_s < LAG_S
    # A continuation job waits for jobs of the sweep to end: for ever, if these never start.
    follows = progress.follows_on and {run.state for run in progress.runs if run.in_queue} != {NEVER_STARTED}
    held = is_held(lock_of(progress.sweep.paths.jobs))
    return bool(lags or states & {*ACTIVE} or follows or held)


def _is_answered(sweep: Sweep) -> bool:
    from hpcbench.tuning.result_file import all_recommended, read_results  # imported late, because it imports numpy

    found = read_results(sweep.paths)
    return found is not None and all_recommended(found)


def _state(sweep: Sweep) -> SearchState:
    """Return the state of the search; if Slurm does not respond, a state with the message."""
    try:
        return search_state(sweep)
    except NoAnswerError as error:
        return SearchState(f"{error.what}; trying again", goes_on=True)


def _reconciled(sweep: Sweep, display: Display) -> Progress:
    """Return the reconciled state, and wait for Slurm however long it takes: slurmctld may restart."""
    silent = False
    while True:
        try:
            progress = reconcile(sweep)
        except NoAnswerError as error:
            if not silent:
                display.report(f"{error.what}; trying again every {LONGEST_S:.0f} s")
            silent = True
            time.sleep(LONGEST_S)
            continue
        if silent:
            display.report("Slurm responds again")
        return progress


def _left(progress: Progress) -> str:
    """Return what did not complete, and the command that continues."""
    name = progress.sweep.paths.name
    not_ended = Counter(run.state for run in progress.runs if not run.ended)
    if all(run.state == COMPLETED for run in progress.runs):
        lacking = sum(not run.is_complete for run in progress.runs)
        return f"{name}: {plural(lacking, 'run')} completed, metric not found; reasons: hpcbench status {name}"
    why = f"no job is pending or running, and {counted(not_ended)}" if not_ended else "not all runs completed"
    continued = how_to_continue(progress)
    if continued:
        return f"{name}: {why}; {continued}"
    return f"{name}: {why}" + (f"; reasons: hpcbench status {name}" if not_ended else "")


@contextmanager
def _farewell(sweep: Sweep) -> Iterator[None]:
    """Print that Ctrl-C has ended only the view."""
    try:
        yield
    except KeyboardInterrupt:
        name = sweep.paths.name
        err.print(f"the jobs continue; to watch them: hpcbench status {name} --watch", soft_wrap=True)
        raise
