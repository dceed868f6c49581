"""Waiting for the job of a search to end."""

from __future__ import annotations

import time

from hpcbench.commands.common import err
from hpcbench.commands.watching import pause_s
from hpcbench.submit.journal import Journal
from hpcbench.submit.queue import NoAnswerError
from hpcbench.submit.sweep import Sweep
from hpcbench.tuning.finding import Finding
from hpcbench.tuning.kept import read


def wait_for_search(sweep: Sweep) -> list[Finding] | None:
    """What its job has found, telling on stderr how the job stands; None where it has ended without an answer."""
    began_s = changed_s = time.monotonic()
    told, idle = "", False
    while True:
        found = read(sweep.paths)
        if found is not None:
            return found
        asked_s = time.monotonic()
        words, queued = _standing(sweep)
        now_s = time.monotonic()
        if words != told:
            err.print(words, soft_wrap=True, markup=False)
            told, changed_s = words, now_s
        if idle and not queued:
            return read(sweep.paths)
        idle = not queued  # looked at once more: what it has found may be written a moment after it has left the queue
        time.sleep(pause_s(now_s - began_s, now_s - changed_s, now_s - asked_s))


def _standing(sweep: Sweep) -> tuple[str, bool]:
    """In words, and whether more may come."""
    from hpcbench.submit.search_job import in_queue  # submitit

    try:
        queued = in_queue(sweep, Journal.read(sweep.paths))
    except NoAnswerError as error:
        return f"{error.what}; asking again", True
    told = ", ".join(f"job {job} is {state}" for job, state in queued.items())
    return told or "no job of it is in the queue", bool(queued)
