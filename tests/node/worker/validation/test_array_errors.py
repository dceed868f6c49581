"""The error of an array: norms and units in the last place by hand, and the ratio to the bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from hpcbench.core.validation.result import ArrayError
from hpcbench.models.reference.variable import ROUNDINGS, Variable
from hpcbench.node.worker.validation.array_errors import FACTOR, array_error, product_of, sum_of_squares, ulp


def error_of(found: Any, expected: Any, bound: Any = None, dtype: str = "float32") -> ArrayError:
    error = None if bound is None else np.float32(bound)
    return array_error("output", np.float32(found), Variable(np.array(expected, float), ROUNDINGS[dtype], error), dtype)


def test_the_norms_are_those_of_the_difference() -> None:
    found = error_of([[1.5, 2.0], [3.0, -5.0]], [[1.0, 2.0], [3.0, -4.0]], [[1.0, 1.0], [1.0, 1.0]])
    assert (found.l1, found.l2, found.max) == (1.5, math.sqrt(0.25 + 1), 1.0)
    assert found.relative_l1 == 1.5 / 10
    assert found.relative_l2 == pytest.approx(math.sqrt(1.25 / 30))
    assert found.relative_max == 1 / 4
    assert found.reason is None
    assert (found.bound_ratio, found.worst, found.array) == (1 / FACTOR, [1, 1], "output")


def test_the_worst_element_is_that_with_the_largest_ratio_to_its_bound() -> None:
    found = error_of([1.0, 1.0], [0.0, 0.99], [1.0, 1e-3])
    assert found.worst == [1]
    assert found.bound_ratio == pytest.approx(0.01 / (FACTOR * 1e-3), rel=1e-4)
    assert found.max == 1.0


def test_without_an_error_the_ratio_to_no_bound_is_0() -> None:
    for bound in (None, [0.0, 0.0]):
        assert error_of([1.0, 2.0], [1.0, 2.0], bound).bound_ratio == 0
        wrong = error_of([1.0, 2.0], [1.0, 2.5], bound)
        assert (wrong.bound_ratio, wrong.ratio, wrong.max) == (None, math.inf, 0.5)
        assert wrong.reason == "an element that must be exact differs from the reference"
    assert error_of([0.0], [0.0]).relative_l2 is None


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_has_no_error_but_a_reason(wrong: float) -> None:
    found = error_of([1.0, wrong, 2.0], [1.0, 1.0, 2.0], [1.0, 1.0, 1.0])
    assert {found.l1, found.l2, found.max, found.relative_max, found.ulps, found.bound_ratio} == {None}
    assert (found.worst, found.ratio, found.reason) == ([1], math.inf, "1 of 3 elements are not finite")


@pytest.mark.parametrize("bound", [math.inf, math.nan])
def test_an_infinite_error_with_an_unknown_bound_does_not_hide_other_errors(bound: float) -> None:
    found = error_of([math.inf, 5.0], [1.0, 0.0], [bound, 1.0])
    assert (found.ratio, found.worst) == (math.inf, [0])
    assert error_of([2.0, 5.0], [1.0, 0.0], [bound, 1.0]).bound_ratio == 5 / FACTOR
    assert error_of([1.0, 5.0], [1.0, 0.0], [bound, 1.0]).bound_ratio == 5 / FACTOR


@pytest.mark.parametrize("shape", [(3, 2), (6,), (2, 3, 1), (1, 3)])
def test_another_shape_has_no_error_but_a_reason(shape: tuple[int, ...]) -> None:
    found = error_of(np.zeros(shape), np.zeros((2, 3)))
    assert {found.l1, found.l2, found.max, found.relative_l2, found.ulps, found.bound_ratio} == {None}
    assert (found.ratio, found.reason) == (math.inf, f"the shape is {shape} instead of (2, 3)")


@pytest.mark.parametrize(
    ("dtype", "value", "distance"),
    [
        ("float32", 1.0, 2.0**-23),
        ("float32", -1.999, 2.0**-23),
        ("float32", 2.0, 2.0**-22),
        ("float32", 1e-40, 2.0**-149),
        ("float32", 0.0, 2.0**-149),
        ("bfloat16", 1.0, 2.0**-7),
        ("bfloat16", 300.0, 2.0),
        ("float16", 1.0, 2.0**-10),
        ("float16", 1000.0, 0.5),
        ("float16", 1e-5, 2.0**-24),
        ("float64", 1.0, 2.0**-52),
        ("float64", 0.0, 5e-324),
    ],
)
def test_the_unit_in_the_last_place_is_the_distance_to_the_next_number(
    dtype: str, value: float, distance: float
) -> None:
    assert ulp(np.array([value]), dtype)[0] == distance
    if dtype != "bfloat16":
        assert np.spacing(np.abs(np.array(value, dtype))) == distance


@pytest.mark.parametrize(("dtype", "found", "ulps"), [("float32", 1 + 2.0**-22, 2), ("bfloat16", 1 + 2.0**-6, 2)])
def test_errors_in_units_in_the_last_place(dtype: str, found: float, ulps: float) -> None:
    assert error_of([found, 8.0], [1.0, 8.0], [1.0, 1.0], dtype).ulps == ulps


def test_a_single_number_is_an_array() -> None:
    found = error_of(2.0, 1.0, 1.0)
    assert (found.max, found.worst, found.bound_ratio) == (1.0, [], 1 / FACTOR)


def test_a_transposed_reference_has_the_error_of_a_copy() -> None:
    numbers = np.random.default_rng(0)
    for shape in ((300, 250), (2, 60_000), (3, 50, 400)):
        expected = numbers.normal(size=shape[::-1]).T
        found = (expected + 1e-7 * numbers.normal(size=shape)).astype(np.float32)
        found[1, -1] += 1
        bound = np.full(shape[::-1], 1e-7, np.float32).T
        transposed = array_error("x", found, Variable(expected, ROUNDINGS["float32"], bound), "float32")
        copy = Variable(expected.copy("C"), ROUNDINGS["float32"], bound.copy("C"))
        in_one_piece = array_error("x", found, copy, "float32")
        assert transposed.worst == in_one_piece.worst
        assert transposed.worst[0] == 1
        assert transposed.bound_ratio == in_one_piece.bound_ratio
        assert (transposed.max, transposed.ulps) == (in_one_piece.max, in_one_piece.ulps)
        assert transposed.l2 == pytest.approx(in_one_piece.l2, rel=1e-12)


def test_products_and_squares_are_added_up_in_float64() -> None:
    numbers = np.random.default_rng(0).normal(size=(200, 300))
    small = (1e-30 * numbers).astype(np.float32)
    assert sum_of_squares(small.T) == pytest.approx((small.astype(float) ** 2).sum(), rel=1e-12)
    assert sum_of_squares(small) > 0
    images = numbers.reshape(4, 10, 50, 30).transpose(1, 0, 3, 2)
    assert sum_of_squares(images) == pytest.approx((numbers**2).sum(), rel=1e-12)
    assert sum_of_squares(images[:, ::2]) == pytest.approx((images[:, ::2] ** 2).sum(), rel=1e-12)
    signs = np.sign(numbers).astype(np.int8)
    assert product_of(numbers, signs) == pytest.approx(np.abs(numbers).sum(), rel=1e-12)
    assert product_of(numbers.T, signs.T) == pytest.approx(np.abs(numbers).sum(), rel=1e-12)
    assert math.isnan(product_of(np.array([1.0, math.nan]), np.array([1, 1], np.int8)))
