"""Waiting for the job of a search to end."""

from __future__ import annotations

import time

from hpcbench.commands.common import err
from hpcbench.commands.watching import pause_s
from hpcbench.submit.queue import NoAnswerError
from hpcbench.submit.search_state import SearchState, search_state
from hpcbench.submit.sweep import Sweep
from hpcbench.tuning.finding import Finding
from hpcbench.tuning.kept import read


def wait_for_search(sweep: Sweep) -> list[Finding] | None:
    """What its job has found, telling on stderr how the job stands; None where it has ended without an answer, or will
    never start."""
    began_s = changed_s = time.monotonic()
    told, idle = "", False
    while True:
        found = read(sweep.paths)
        if found is not None:
            return found
        asked_s = time.monotonic()
        state = _state(sweep)
        now_s = time.monotonic()
        if state.words != told and (state.goes_on or idle):
            err.print(state.words, soft_wrap=True, markup=False)
            told, changed_s = state.words, now_s
        if idle and not state.goes_on:
            return read(sweep.paths)
        # Looked at once more: what it has found may be written a moment after it has left the queue.
        idle = not state.goes_on
        time.sleep(pause_s(now_s - began_s, now_s - changed_s, now_s - asked_s))


def _state(sweep: Sweep) -> SearchState:
    try:
        return search_state(sweep)
    except NoAnswerError as error:
        return SearchState(f"{error.what}; asking again", goes_on=True)
