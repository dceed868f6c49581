"""Waiting for the jobs of a sweep: sweep --wait and resume --wait."""

from __future__ import annotations

import time

from hpcbench.collect.progress import Progress, survey
from hpcbench.commands.common import err
from hpcbench.node import outcomes
from hpcbench.submit.queue import NoAnswerError
from hpcbench.submit.sweep import Sweep

FIRST_S, BUSY_S, LONGEST_S = 2.0, 10.0, 60.0  # between two questions: at least, while something happens, at most
LATE = 0.1  # of the time waited so far, by which the end may be noticed late


def wait_for(sweep: Sweep) -> int:
    """Return 0 when every repetition has completed, 1 when all have ended otherwise."""
    began_s = time.monotonic()
    shown = ""
    while True:
        try:
            progress = survey(sweep)
        except NoAnswerError as error:  # a controller that restarts is no reason to stop waiting
            err.print(f"{error.what}; asking again", markup=False)
            time.sleep(LONGEST_S)
            continue
        line = ", ".join(f"{count} {state}" for state, count in progress.counts().items())
        pause_s = min(max(FIRST_S, LATE * (time.monotonic() - began_s)), LONGEST_S)
        if line != shown:
            err.print(f"{sweep.paths.name}: {line}")
            shown, pause_s = line, min(pause_s, BUSY_S)
        if all(run.ended for run in progress.runs):
            return exit_status(progress)
        time.sleep(pause_s)


def exit_status(progress: Progress) -> int:
    """0 where every repetition has completed, else 1."""
    return int(any(run.state != outcomes.COMPLETED for run in progress.runs))
