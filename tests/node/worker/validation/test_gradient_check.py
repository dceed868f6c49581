"""The gradient check: central differences in float64, and what takes their place without float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpcbench.core.validation.result import FAILED, PASSED
from hpcbench.models.operators.operator import BOTH, FORWARD, OF_INPUTS, OF_WEIGHTS
from hpcbench.node.frameworks.operator_call import OperatorCall, Request
from hpcbench.node.worker.validation import gradient_check
from hpcbench.node.worker.validation.gradient_check import Checked, check_gradients
from hpcbench.node.worker.validation.references import references_of
from tests.node.worker.validation.numpy_call import NumPyOperator, computation, validated

LARGE = {"rows": 40, "inputs": 30, "outputs": 20}
SMALL = {"rows": 2, "inputs": 3, "outputs": 4}
Arrays = dict[str, Any]


def checked(of: type[NumPyOperator], sizes: dict[str, int], phase: str, **changes: Any) -> Checked:
    case = computation("linear", sizes, phase, of, **changes)
    return check_gradients(case.request, case.called_with, case.call.results(), references_of(case.request))


@pytest.mark.parametrize("phase", [OF_INPUTS, OF_WEIGHTS, BOTH])
@pytest.mark.parametrize("sizes", [SMALL, LARGE], ids=["small", "large"])
def test_a_right_gradient_passes_in_float64(sizes: dict[str, int], phase: str) -> None:
    found = checked(NumPyOperator, sizes, phase)
    assert found.passed
    assert (found.check.dtype, found.check.reason) == ("float64", None)
    assert found.check.error < 1e-8


def test_few_numbers_are_checked_one_by_one_and_many_along_two_directions() -> None:
    assert checked(NumPyOperator, SMALL, BOTH).check.directions == 2 * 3 + 4 * 3 + 4
    assert checked(NumPyOperator, LARGE, BOTH).check.directions == 2


@pytest.mark.parametrize("sizes", [SMALL, LARGE], ids=["small", "large"])
def test_a_gradient_that_is_wrong_by_1e_5_fails(sizes: dict[str, int]) -> None:
    class Faulty(NumPyOperator):
        def after(self, results: Arrays) -> Arrays:
            factor = 1 if self.request.phase == FORWARD else 1 + 1e-5
            return {name: array * factor for name, array in results.items()}

    found = checked(Faulty, sizes, OF_WEIGHTS)
    assert not found.passed
    assert found.check.error > 1e-6


def test_a_single_wrong_number_of_a_small_gradient_fails() -> None:
    class Faulty(NumPyOperator):
        def after(self, results: Arrays) -> Arrays:
            if self.request.phase != FORWARD:
                results["weight"][3, 2] += 1e-4
            return results

    assert not checked(Faulty, SMALL, OF_WEIGHTS).passed


@pytest.mark.parametrize("when", ["gradient", "forward"])
def test_a_value_that_is_not_a_number_fails(when: str) -> None:
    class Faulty(NumPyOperator):
        def after(self, results: Arrays) -> Arrays:
            if (self.request.phase == FORWARD) == (when == "forward") and self.request.dtype == "float64":
                for array in results.values():
                    array.flat[-1] = np.nan
            return results

    assert not checked(Faulty, SMALL, BOTH).passed
    found = validated("linear", SMALL, BOTH, Faulty)
    assert (found.verdict, found.reason) == (
        FAILED,
        "the gradients, or the central differences, are not finite in float64",
    )
    assert found.gradient_check is not None
    assert found.gradient_check.error is None


class WithoutFloat64(NumPyOperator):
    has_float64 = False


@pytest.mark.parametrize("sizes", [SMALL, LARGE], ids=["small", "large"])
def test_without_float64_gradients_are_compared_with_the_reference(sizes: dict[str, int]) -> None:
    found = checked(WithoutFloat64, sizes, BOTH)
    assert found.passed
    assert (found.check.dtype, found.check.reason) == ("float32", "this framework has no float64")
    assert 0 < found.check.error < 1e-5


@pytest.mark.parametrize(("dtype", "factor", "passes"), [("float32", 1.001, False), ("bfloat16", 1.001, True)])
def test_without_float64_a_wrong_gradient_fails_beyond_its_precision(dtype: str, factor: float, passes: bool) -> None:
    class Faulty(WithoutFloat64):
        def after(self, results: Arrays) -> Arrays:
            return {name: array * np.float32(factor) for name, array in results.items()}

    assert checked(Faulty, SMALL, OF_WEIGHTS, dtype=dtype).passed == passes


def test_indices_are_not_moved() -> None:
    found = validated("embedding", {"vocabulary": 5, "width": 3, "tokens": 7}, OF_WEIGHTS)
    assert found.verdict == PASSED
    assert found.gradient_check is not None
    assert found.gradient_check.error < 1e-8


def test_the_forward_pass_is_that_of_the_framework_at_points_a_step_away() -> None:
    seen: list[Request] = []

    class Seen(NumPyOperator):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            seen.append(self.request)

    checked(Seen, LARGE, OF_INPUTS)
    assert issubclass(Seen, OperatorCall)
    original, exact, *moved = seen
    assert [each.phase for each in moved] == [FORWARD] * 4
    assert {each.dtype for each in [exact, *moved]} == {"float64"}
    for each in moved:
        distance = np.abs(each.arrays["x"] - original.arrays["x"])
        np.testing.assert_allclose(distance, gradient_check.STEP, rtol=1e-6)
        np.testing.assert_array_equal(each.arrays["weight"], original.arrays["weight"])
