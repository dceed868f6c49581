"""The line of `hpcbench show` on the validation of a case."""

from __future__ import annotations

from dataclasses import replace

from hpcbench.core.validation.result import (
    FAILED,
    NOT_VALIDATED,
    PASSED,
    ArrayError,
    GradientCheck,
    Repeatability,
    UpdateCheck,
    Validation,
)
from hpcbench.report.terminal.case.validation import validation_line

ERROR = ArrayError("output", 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3.0, bound_ratio=0.125)
CHECK = GradientCheck("float64", 3, 2.5e-9)
REPEATS = Repeatability(5, bitwise=True, largest_difference=0.0, thread_counts=(1, 2, 4), threads_bitwise=True)
GOOD = Validation(PASSED, worst=ERROR, gradient_check=CHECK, repeatability=REPEATS)


def test_a_passed_validation_has_its_evidence() -> None:
    assert validation_line([GOOD]) == (
        "passed; largest error / bound of rounding errors: 0.125 (the output); "
        "gradient check: differs from central differences by 2.5e-09 of the norm, in float64; "
        "5 calls bitwise equal; results with 1, 2, 4 threads are bitwise equal, too"
    )


def test_the_largest_ratio_of_all_runs_is_shown() -> None:
    larger = replace(GOOD, worst=replace(ERROR, array="weight", bound_ratio=0.5))
    for runs in ([GOOD, larger], [larger, GOOD]):
        assert "rounding errors: 0.5 (the gradient of weight)" in validation_line(runs)


def test_results_that_differ_have_their_largest_difference() -> None:
    calls = replace(REPEATS, bitwise=False, largest_difference=1.5e-7, threads_bitwise=None)
    assert validation_line([Validation(PASSED, repeatability=calls)]) == "passed; 5 calls differ by up to 1.5e-07"
    threads = replace(REPEATS, threads_bitwise=False, threads_difference=None)
    line = validation_line([Validation(PASSED, repeatability=threads)])
    expected = "5 calls bitwise equal; results with 1, 2, 4 threads differ (the difference is not finite)"
    assert line == f"passed; {expected}"
    both = replace(REPEATS, bitwise=False, largest_difference=None)
    expected = "5 calls differ (the difference is not finite); results with 1, 2, 4 threads are bitwise equal"
    assert validation_line([Validation(PASSED, repeatability=both)]) == f"passed; {expected}"


def test_a_failed_run_decides_and_has_its_reason() -> None:
    wrong = Validation(FAILED, "the output is nan at index [0]", worst=replace(ERROR, bound_ratio=None))
    line = validation_line([GOOD, wrong, Validation(NOT_VALIDATED, "too large")])
    assert line == "failed in 1 of 3 runs: the output is nan at index [0]"
    wrong = replace(wrong, gradient_check=replace(CHECK, error=None))
    assert validation_line([wrong]).endswith("[0]; gradient check: not finite in float64")


def test_a_run_that_was_not_validated_has_its_reason() -> None:
    left = Validation(NOT_VALIDATED, "too large")
    assert validation_line([left, left]) == "not validated: too large"
    assert validation_line([left, GOOD]) == "not validated in 1 of 2 runs: too large"


def test_a_case_without_validation_has_no_line() -> None:
    assert validation_line([]) == ""


def test_the_updates_of_a_training_have_a_sentence() -> None:
    def line(check: UpdateCheck) -> str:
        return validation_line([Validation(PASSED, update=check)])

    ratio = "largest difference from the definition of the optimizer / tolerance: 0.01"
    change = f"{ratio} (1.2e-06 of the change in step 2 of 3)"
    assert line(UpdateCheck(3, 2, 1.23e-6, 0.01)) == f"passed; updates: {change}"
    small = "step 1 changes the weights by 1e-12 of their norm, too little to detect errors"
    assert line(UpdateCheck(0, reason=small)) == f"passed; updates: not compared, because {small}"
    assert (
        line(UpdateCheck(3, 2, 1.23e-6, 0.01, small))
        == f"passed; updates: {change}; other steps not compared, because {small}"
    )
    assert line(UpdateCheck(1, 1)) == "passed; updates: not finite after step 1"
