"""Threads by section beside the best fixed setting, with made-up measurements: no network here gains surely."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hpcbench.config.parameters import Parameters
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.core.record import Record
from hpcbench.plan.case import Case, case_id
from hpcbench.store.workspace import SweepPaths
from hpcbench.tuning.ask_tell import Block, Notebook, Outcome
from hpcbench.tuning.result import AtShape
from hpcbench.tuning.thread_schedule_search import SectionSearch
from tests.fixtures.records import a_record

SCHEDULE = {"schema": 1, "fingerprint": "f", "sections": [{"module": "0", "phase": "forward", "threads": 2}]}
FOUND = {"dynamic": {"answer": "schedule", "why": None, "schedule": SCHEDULE}}


def case(**parameters: Any) -> Case:
    checked = Parameters.model_validate({"framework": "pytorch", "model": "lstm", "cpus_per_task": 4, **parameters})
    return Case(case_id(checked, {}), 0, checked, {}, SlurmOptions())


class FakeBench:
    """Costs by what a case is: noise of half a percent, which repeats, on what it is told."""

    def __init__(self, folder: Path, record: dict[str, Any], cost: Callable[[Case], float | None]) -> None:
        self.sweep = SimpleNamespace(paths=SweepPaths("trial", folder / "jobs/trial", folder / "results/trial"))
        self.found, self.cost, self.turns = record, cost, 0
        self.seconds = 60.0

    def record(self, case: Case, stage: Any) -> Record:
        return a_record(**self.found, case_id=case.id)

    def failures(self, case: Case) -> list[str]:
        return ["timeout"] if self.cost(case) is None else []

    def block(self, cases: Sequence[Case], block: Block) -> list[Outcome]:
        self.turns += 1
        costs = {number: self.cost(cases[number]) for number in block.settings}
        noise = 1 + 0.005 * (self.turns % 3 - 1)
        return [Outcome(number, cost * noise if cost else None) for number, cost in costs.items()]


@pytest.fixture
def searched(tmp_path: Path) -> Callable[..., Any]:
    def run(cost: Callable[[Case], float | None], *shapes: dict[str, Any], best: Any = None, **changes: Any) -> Any:
        cases = [case(), best or case(threads="fixed", intra_op_threads=2)]
        bench: Any = FakeBench(tmp_path, {**FOUND, **changes}, cost)
        return SectionSearch(bench, Notebook(1), cases, 1, case(threads="dynamic"), 12).run(shapes)

    return run


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
        (True, "a schedule was found, but following it failed: timeout"),
        (False, "a schedule was found, but the best fixed setting beside it failed: timeout"),
    ],
)
def test_where_one_of_both_fails_nothing_is_claimed(searched, failing: bool, why: str) -> None:
    found = searched(lambda case: None if bool(case.parameters.schedule) is failing else 1.0)
    assert (found.schedule, found.why, found.certain) == (None, why, False)


def test_without_a_schedule_the_reason_is_told(searched, tmp_path: Path) -> None:
    kept = {"answer": "fixed", "why": "no change of the count is worth what it costs", "schedule": None}
    found = searched(a_tenth_less_with_a_schedule, dynamic=kept)
    assert (found.schedule, found.why) == (None, "no change of the count is worth what it costs")
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
        (False, "the best fixed setting beside it failed: timeout"),
    ],
)
def test_of_a_shape_at_which_one_of_both_fails_nothing_is_certain_but_why(searched, failing: bool, why: str) -> None:
    def cost(case: Case) -> float | None:
        fails = case.parameters.batch_size == 999 and bool(case.parameters.schedule) is failing
        return None if fails else a_tenth_less_with_a_schedule(case)

    (found,) = searched(cost, {"batch_size": 999}).held_out
    assert found == AtShape({"batch_size": 999}, None, False, why)
