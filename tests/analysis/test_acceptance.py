"""The verdict on each case: by the median over its runs, or not measured with the reason."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from hpcbench.analysis.acceptance import ACCEPTED, NOT_MEASURED, REJECTED, Check, Required, checks, unmeasurable, worst
from hpcbench.analysis.cases.case_table import case_table
from hpcbench.analysis.cases.quantities import ACCURACY, BEST_ACCURACY, ENERGY, OF_VALIDATIONS, TIME, Quantity
from hpcbench.config.validation.acceptance import Condition

MISSED = {"status": "failed", "error": "the best accuracy was 0.9300 after 3 epochs, and the target is 0.95"}


def required(text: str, quantity: Quantity = ACCURACY, problem: str = "") -> Required:
    condition = Condition.of(text)
    return Required("sweep-1", quantity, condition, condition.threshold(quantity.unit), problem)


def checked(rows: list[dict[str, Any]], *conditions: Required) -> list[Check]:
    repetitions = pd.DataFrame(rows)
    return checks(case_table(repetitions), repetitions, conditions)


def test_the_median_decides_and_the_interval_is_beside_it(repetition) -> None:
    rows = [repetition(0, run, accuracy=accuracy) for run, accuracy in enumerate((0.94, 0.96, 0.97))]
    above, below = checked(rows, required(">= 0.96"), required("> 0.96"))
    assert (above.verdict, below.verdict) == (ACCEPTED, REJECTED)
    assert (above.value, above.runs) == (0.96, 3)
    assert above.low < 0.94
    assert 0.97 < above.high <= 1
    assert above.is_close


def test_a_missed_target_counts_with_its_last_and_its_best_accuracy(repetition) -> None:
    rows = [
        repetition(0, 0, accuracy=0.96, best_accuracy=0.96),
        *(repetition(0, run, accuracy=0.92, best_accuracy=0.93, **MISSED) for run in (1, 2)),
    ]
    last, best = checked(rows, required(">= 0.95"), required(">= 0.93", BEST_ACCURACY))
    assert (last.verdict, last.value, last.runs, last.reason) == (REJECTED, 0.92, 3, "")
    assert (best.verdict, best.value) == (REJECTED, 0.93)
    assert best.reason == f"failed: {MISSED['error']}", "it meets the condition, but did not complete"


def test_a_case_without_a_valid_run_is_not_measured_and_says_why(repetition) -> None:
    failed = {"status": "out_of_memory", "error": "no memory", "failed": True}
    (found,) = checked([repetition(0, 0, **failed)], required("<= 1 s", TIME))
    assert (found.verdict, found.runs, found.reason) == (NOT_MEASURED, 0, "out_of_memory: no memory")
    assert unmeasurable([found]) == [], "another run may have it"


def test_what_the_machine_cannot_measure_has_the_reason(repetition) -> None:
    (found,) = checked([repetition(0, 0, [1.0], energy_reason="no sensor")], required("< 1", ENERGY))
    assert (found.verdict, found.reason) == (NOT_MEASURED, "no sensor")


def test_a_quantity_that_no_case_has_is_an_error(repetition) -> None:
    rows = [repetition(0, 0, [1.0]), repetition(1, 0, [1.0])]
    accuracy, unknown = required(">= 0.9"), required(">= 0.9", Quantity("acuracy", "acuracy"), "unknown metric")
    found = checked(rows, accuracy, unknown, required("< 2", TIME))
    assert [check.verdict for check in found] == [NOT_MEASURED, NOT_MEASURED, ACCEPTED] * 2
    assert unmeasurable(found) == [accuracy, unknown]


def test_other_sweeps_are_not_checked(repetition) -> None:
    assert checked([repetition(0, 0, [1.0], sweep="sweep-2")], required("< 2", TIME)) == []


@pytest.mark.parametrize(
    ("verdicts", "word"),
    [
        ([ACCEPTED, ACCEPTED], ACCEPTED),
        ([ACCEPTED, NOT_MEASURED], NOT_MEASURED),
        ([NOT_MEASURED, REJECTED, ACCEPTED], REJECTED),
    ],
)
def test_the_worst_verdict_is_that_of_the_case(verdicts: list[str], word: str) -> None:
    assert worst(verdicts) == word


@pytest.mark.parametrize("quantity", OF_VALIDATIONS, ids=lambda each: each.column)
def test_the_largest_error_of_all_runs_decides(repetition, quantity: Quantity) -> None:
    rows = [repetition(0, run, **{quantity.column: error}) for run, error in enumerate((0.1, 0.1, 0.4))]
    above, below = checked(rows, required("<= 0.4", quantity), required("<= 0.3", quantity))
    assert (above.verdict, below.verdict) == (ACCEPTED, REJECTED)
    assert (above.value, above.runs) == (0.4, 3)
    assert not above.is_close


def test_updates_that_were_not_compared_have_the_reason(repetition) -> None:
    (found,) = checked([repetition(0, 0, update_reason="too small")], required("< 1", OF_VALIDATIONS[1]))
    assert (found.verdict, found.reason) == (NOT_MEASURED, "too small")
