"""Steps share a time budget, and a failed step does not prevent others from running."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tools.gpu_proof.cli import BUDGET_S, STEPS
from tools.gpu_proof.steps import FAILED, NOT_RUN, PASSED, Ended, Outcome, Step, judged, run_steps


class Clock:
    """A clock that steps set forward."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def run(clock: Clock) -> Callable[..., list[Ended]]:
    """Run steps, 100 s of the clock at most, and return how they ended."""

    def all_of(*steps: Step[Clock]) -> list[Ended]:
        ended: list[Ended] = []
        run_steps(steps, clock, clock.now_s + 100, ended.append, clock)
        return ended

    return all_of


def taking(seconds: float, deadlines: list[float] | None = None) -> Callable[[Clock, float], Outcome]:
    def step(clock: Clock, deadline_s: float) -> Outcome:
        if deadlines is not None:
            deadlines.append(deadline_s)
        clock.now_s += seconds
        return judged(["it took its time"], [])

    return step


def failing(clock: Clock, deadline_s: float) -> Outcome:
    raise ValueError("no such thing")


def test_a_step_that_raises_has_failed_and_the_next_one_runs(run: Callable[..., list[Ended]]) -> None:
    first, second = run(Step("a", "", 1, 10, failing), Step("b", "", 1, 10, taking(3)))
    assert first.outcome.status == FAILED
    assert first.outcome.problems[0].startswith("ValueError: no such thing (test_steps.py:")
    assert (second.outcome.status, second.seconds) == (PASSED, 3)


def test_a_step_without_enough_time_is_not_run_and_says_so(run: Callable[..., list[Ended]]) -> None:
    _, late, short = run(
        Step("a", "", 1, 90, taking(80)), Step("b", "", 30, 90, taking(1)), Step("c", "", 10, 20, taking(1), 0)
    )
    assert late.outcome.status == NOT_RUN
    assert late.outcome.problems == ("requires 30 s; time left: 0 s",)
    assert short.outcome.status == PASSED


def test_a_deadline_is_the_limit_of_the_step_or_what_its_reserve_leaves(
    run: Callable[..., list[Ended]], clock: Clock
) -> None:
    deadlines: list[float] = []
    run(Step("a", "", 1, 20, taking(20, deadlines)), Step("b", "", 1, 500, taking(1, deadlines), 30))
    assert deadlines == [120, 170]


def test_every_step_is_listed_and_the_names_are_unique() -> None:
    names = [step.name for step in STEPS]
    assert len(set(names)) == len(names)
    assert {"nvml", "tests", "energy", "throttling", "foreign", "eager", "compiled", "doctor", "page"} <= set(names)
    assert {"strategies", "jax", "operators", "tf32", "profile", "clocks"} <= set(names)
    assert names[-1] == "page", "it shows all sweeps"
    assert STEPS[-1].reserve_s == 0
    assert BUDGET_S < 9 * 60
