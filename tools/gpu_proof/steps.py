"""Run steps with outcomes, one after another, within a time budget."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

PASSED, PARTLY, FAILED, NOT_RUN = "passed", "passed in part", "failed", "not run"

Context = TypeVar("Context")


@dataclass(frozen=True)
class Outcome:
    """The status of a step, its evidence, and the problems if it failed or the reason if it was not run."""

    status: str
    evidence: Sequence[str] = ()
    problems: Sequence[str] = ()

    def cut_short(self, why: str) -> Outcome:
        """Return the outcome with the reason why a part was not run. A passed step has then passed in part."""
        return Outcome(PARTLY if self.status == PASSED else self.status, self.evidence, (*self.problems, why))


def judged(evidence: Sequence[str], problems: Sequence[str]) -> Outcome:
    """Return the outcome: failed if there are problems, otherwise passed."""
    return Outcome(FAILED if problems else PASSED, evidence, problems)


def not_run(why: str, evidence: Sequence[str] = ()) -> Outcome:
    """Return the outcome of a step that could not run."""
    return Outcome(NOT_RUN, evidence, (why,))


@dataclass(frozen=True)
class Step(Generic[Context]):
    """A test of one subject. `run` gets the context and a deadline (time.monotonic), and may raise any exception."""

    name: str
    title: str
    needs_s: float  # with less time left, it is not run
    limit_s: float
    run: Callable[[Context, float], Outcome]
    reserve_s: float = 35.0  # of the budget, left for later steps


@dataclass(frozen=True)
class Ended:
    """A step that ended, with the time that it took."""

    name: str
    title: str
    outcome: Outcome
    seconds: float


def run_steps(
    steps: Sequence[Step[Context]],
    context: Context,
    end_s: float,
    ended: Callable[[Ended], None],
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Run the steps in order until `end_s` on the clock, and call `ended` after each, also for those not run."""
    for step in steps:
        start_s = clock()
        left_s = end_s - step.reserve_s - start_s
        if left_s < step.needs_s:
            outcome = not_run(f"requires {step.needs_s:.0f} s; time left: {max(left_s, 0.0):.0f} s")
        else:
            outcome = _run(step, context, start_s + min(left_s, step.limit_s))
        ended(Ended(step.name, step.title, outcome, clock() - start_s))


def _run(step: Step[Context], context: Context, deadline_s: float) -> Outcome:
    try:
        return step.run(context, deadline_s)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return judged([], [f"{type(error).__name__}: {error} ({place.filename.rpartition('/')[2]}:{place.lineno})"])
