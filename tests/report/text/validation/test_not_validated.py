"""The sentence on cases that are not validated, from records: their number and the reasons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hpcbench.core.record import Record
from hpcbench.core.status import FAILED
from hpcbench.core.training.trajectory import Trajectory
from hpcbench.core.typed_json import to_json
from hpcbench.core.validation.result import NOT_VALIDATED, PASSED, UpdateCheck, Validation
from hpcbench.report.load.results import results_of
from hpcbench.report.text.ranking_notes import ranking_notes
from hpcbench.report.text.training.trajectories import trajectory_notes
from hpcbench.report.text.validation.not_validated import MAX_REASONS, not_validated_notes

MakeRecord = Callable[..., Record]
GEMM = {"model": None, "task": "operator", "operator": "gemm", "phase": "forward", "validate": True}


@pytest.fixture
def results(make_record: MakeRecord) -> Callable[..., Any]:
    """The results of cases with two runs each, given by the reason why they are not validated, or None."""

    def of(*reasons: str | None) -> Any:
        records = []
        for case, reason in enumerate(reasons):
            validation = Validation(NOT_VALIDATED, reason) if reason else Validation(PASSED)
            facts = {"validation": to_json(validation)}
            parameters = {**GEMM, "sizes": {"m": case + 1}}
            records += [make_record(case, 2 * case + run, parameters=parameters, facts=facts) for run in range(2)]
        return results_of(records)

    return of


def test_reasons_that_differ_in_numbers_are_one(results: Any) -> None:
    found = results("it failed (KeyError: x)", "too large: 1.5e+02 GFLOP", None, "too large: 70 GFLOP")
    note = "Not validated: 3 of 4 cases; too large: 1.5e+02 GFLOP (2 cases); it failed (KeyError: x) (1 case)."
    assert list(not_validated_notes(found)) == [note]
    assert note in ranking_notes(found)


def test_updates_that_were_not_compared_have_a_sentence(make_record: MakeRecord) -> None:
    small = "step 1 changes the weights by 2e-08 of their norm, too little to detect errors"
    checks = [UpdateCheck(3, 1, 1e-6, 0.1), UpdateCheck(0, reason=small), None]
    facts = [{"validation": to_json(Validation(PASSED, update=each))} for each in checks]
    found = results_of([make_record(case, case, facts=each) for case, each in enumerate(facts)])
    note = f"Updates of the optimizer not compared in all steps: 1 of 2 cases; {small} (1 case)."
    assert list(not_validated_notes(found)) == [note]
    assert found.cases["update_reason"].dropna().tolist() == [small]


def test_of_many_reasons_some_are_shown(results: Any) -> None:
    (note,) = not_validated_notes(results(*(f"reason {letter}" for letter in "abcde"[: MAX_REASONS + 2])))
    assert note.endswith("reason a (1 case); reason b (1 case); reason c (1 case); 2 other reasons.")


def test_trainings_without_a_trajectory_have_a_sentence_with_the_reasons(make_record: MakeRecord) -> None:
    single, ddp = Trajectory(losses=[0.5]), Trajectory(reason="a trajectory requires strategy: single")
    records = [
        make_record(case, parameters={"batch_size": 2**case}, facts={"trajectory": to_json(found)})
        for case, found in enumerate((single, ddp, ddp))
    ]
    note = "Trajectory not recorded: 2 of 3 cases; a trajectory requires strategy: single (2 cases)."
    assert note in ranking_notes(results_of(records))
    assert not list(trajectory_notes(results_of(records[:1])))


def test_failed_runs_are_left_out(make_record: MakeRecord) -> None:
    facts = {"validation": to_json(Validation(NOT_VALIDATED, "the user's code failed in the validation"))}
    completed = make_record(0, 0, parameters=GEMM, facts=facts)
    assert list(not_validated_notes(results_of([completed])))
    assert not list(not_validated_notes(results_of([replace(completed, status=FAILED)])))


def test_without_such_cases_there_is_no_sentence(results: Any) -> None:
    assert not list(not_validated_notes(results(None, None)))
