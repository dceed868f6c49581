"""Threads by section beside the best fixed setting, with made-up measurements: no network here gains surely."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hpcbench.analysis.cases.quantities import TIME
from hpcbench.plan.case import Case
from hpcbench.store.workspace import SweepPaths
from hpcbench.tuning.ask_tell import Trials
from hpcbench.tuning.measurements import Measurements, Trial
from hpcbench.tuning.objective import Objective
from hpcbench.tuning.result import HeldOutResult
from hpcbench.tuning.result_file import save_schedule
from hpcbench.tuning.thread_schedule_search import ScheduleSearch
from tests.tuning.made import case, record, run

SCHEDULE = {"schema": 1, "fingerprint": "f", "sections": [{"module": "0", "phase": "forward", "threads": 2}]}
FOUND = {"status": "completed", "error": None, "dynamic": {"answer": "schedule", "why": None, "schedule": SCHEDULE}}


@pytest.fixture
def searched(tmp_path: Path) -> Callable[..., Any]:
    """Costs by what a case is, with noise of half a percent, which repeats."""

    def searched(
        cost: Callable[[Case], float | None], *shapes: dict[str, Any], best: Any = None, **changes: Any
    ) -> Any:
        cases = [case(), best or case(threads="fixed", intra_op_threads=2)]
        paths = SweepPaths("trial", tmp_path / "jobs/trial", tmp_path / "results/trial")
        noise = itertools.cycle([1.0, 1.0, 1.005, 1.005, 0.995, 0.995])

        def measure(trial: Trial) -> dict[str, Any]:
            parameters = trial.case.parameters
            if parameters.threads == "dynamic" and not parameters.schedule:
                return record(case_id=trial.case.id, **{**FOUND, **changes})
            found = cost(trial.case)
            return record(found and found * next(noise))

        def save(case: str, schedule: Mapping[str, Any]) -> str:
            return save_schedule(paths, case, schedule)

        search = ScheduleSearch(Measurements(Objective(TIME)), Trials(1), cases, 1, 12, save)
        return run(search.run(case(threads="dynamic"), shapes), measure)

    return searched


def a_tenth_less_with_a_schedule(case: Case) -> float:
    return 0.9 if case.parameters.schedule else 1.0


def test_a_schedule_that_gains_is_kept_in_a_file_and_tried_at_other_shapes(searched, tmp_path: Path) -> None:
    def cost(case: Case) -> float:
        return 1.0 if case.parameters.batch_size == 4 else a_tenth_less_with_a_schedule(case)

    found = searched(cost, {"batch_size": 4}, {"model_options.sequence_length": 8})
    assert json.loads((tmp_path / found.schedule).read_text()) == SCHEDULE
    assert found.certain
    assert found.gain.estimate == pytest.approx(1 / 0.9, rel=0.01)
    narrow, short = found.held_out
    assert (narrow.shape, narrow.certain) == ({"batch_size": 4}, False)
    assert (short.certain, short.gain.estimate) == (True, pytest.approx(1 / 0.9, rel=0.01))


def test_a_schedule_that_gains_nothing_beside_the_setting_is_not_certain(searched) -> None:
    tried = []

    def cost(case: Case) -> float:
        tried.append(case.parameters.batch_size)
        return 1.0

    found = searched(cost, {"batch_size": 4})
    assert not found.certain
    assert found.schedule is not None
    assert (found.held_out, found.held_out_left) == ((), 1)
    assert 4 not in tried


@pytest.mark.parametrize(
    ("failing", "why"),
    [
        (True, "a thread plan was found, but following it failed: timeout"),
        (False, "a thread plan was found, but the best fixed configuration failed: timeout"),
    ],
)
def test_where_one_of_both_fails_nothing_is_claimed(searched, failing: bool, why: str) -> None:
    found = searched(lambda case: None if bool(case.parameters.schedule) is failing else 1.0)
    assert (found.schedule, found.why, found.certain) == (None, why, False)


def test_without_a_schedule_the_reason_is_told(searched, tmp_path: Path) -> None:
    kept = {"answer": "fixed", "why": "no change of the thread count is faster", "schedule": None}
    found = searched(a_tenth_less_with_a_schedule, dynamic=kept)
    assert (found.schedule, found.why) == (None, "no change of the thread count is faster")
    assert not (tmp_path / "results").exists()


def test_a_repetition_that_failed_says_how(searched) -> None:
    found = searched(a_tenth_less_with_a_schedule, status="timeout", error={"message": "it took too long"})
    assert found.why == "timeout: it took too long"


def test_a_best_setting_without_sections_says_so(searched) -> None:
    found = searched(a_tenth_less_with_a_schedule, best=case(framework="tensorflow", intra_op_threads=2))
    assert found.schedule is None
    assert "pytorch" in found.why.lower()


@pytest.mark.parametrize(
    ("failing", "why"),
    [
        (True, "following it failed: timeout"),
        (False, "the best fixed configuration failed: timeout"),
    ],
)
def test_of_a_shape_at_which_one_of_both_fails_nothing_is_certain_but_why(searched, failing: bool, why: str) -> None:
    def cost(case: Case) -> float | None:
        fails = case.parameters.batch_size == 999 and bool(case.parameters.schedule) is failing
        return None if fails else a_tenth_less_with_a_schedule(case)

    (found,) = searched(cost, {"batch_size": 999}).held_out
    assert found == HeldOutResult({"batch_size": 999}, None, False, why)
