"""Repeated calls: equal bits, differences and their variance, also between numbers of threads."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

import numpy as np
import pytest

from hpcbench.node.worker.validation.repeatability import CALLS, checksum, repeated

FIRST = {"x": np.float32([[1, 2], [3, 4]]), "w": np.float32([5])}
Arrays = dict[str, Any]


def moved(by: float) -> Arrays:
    return {**FIRST, "x": FIRST["x"] + np.float32([[0, 0], [by, 0]])}


def test_equal_calls_are_repeatable_bit_by_bit() -> None:
    calls = []

    def call() -> Arrays:
        calls.append(True)
        return {name: array.copy() for name, array in FIRST.items()}

    found, variances = repeated(FIRST, call, None, [1, 2])
    assert (found.bitwise, found.largest_difference, found.calls, len(calls)) == (True, 0, CALLS, CALLS - 1)
    assert variances is None
    assert (found.thread_counts, found.threads_bitwise, found.threads_difference) == ([], None, None)


def test_a_slow_operator_is_called_twice() -> None:
    calls = []
    found, _ = repeated(FIRST, lambda: calls.append(True) or FIRST, None, [], limit_s=0)
    assert (found.calls, len(calls), found.bitwise) == (2, 1, True)
    found, _ = repeated(FIRST, lambda: moved(1.0), None, [], limit_s=0)
    assert not found.bitwise


def test_the_variance_shows_where_calls_differ() -> None:
    noise = itertools.cycle([0.5, 0.0])
    found, variances = repeated(FIRST, lambda: moved(next(noise)), None, [])
    assert (found.bitwise, found.largest_difference) == (False, 0.5)
    assert variances is not None
    np.testing.assert_allclose(variances["x"], [[0, 0], [np.var([0, 0.5, 0, 0.5, 0]), 0]])
    np.testing.assert_array_equal(variances["w"], [0])


def test_the_variance_is_that_of_all_calls_and_their_results_are_not_kept() -> None:
    moves = [0.0, 0.0, 0.25, -3.0]
    kept, made = [], iter(moves)

    def call() -> Arrays:
        found = moved(next(made))
        kept.append(weakref.ref(found["x"]))
        assert sum(reference() is not None for reference in kept) <= 2, "the last call and this one"
        return found

    found, variances = repeated(FIRST, call, None, [])
    assert (found.calls, found.largest_difference) == (5, 3.0)
    assert variances is not None
    np.testing.assert_allclose(variances["x"], [[0, 0], [np.var([0, *moves]), 0]], rtol=1e-12)
    made, threads = itertools.cycle([0.0]), iter(moves)
    found, variances = repeated(FIRST, call, lambda count: moved(next(threads)), [1, 2, 3, 4])
    assert (found.threads_bitwise, found.threads_difference, variances) == (False, 3.0, None)


def test_zeros_of_different_sign_are_different_bits() -> None:
    first = {"x": np.float32([0.0])}
    found, _ = repeated(first, lambda: {"x": np.float32([-0.0])}, None, [])
    assert (found.bitwise, found.largest_difference) == (False, 0.0)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_equal_values_that_are_not_finite_do_not_differ(value: float) -> None:
    first = {"x": np.float32([1.0, value])}
    found, _ = repeated(first, lambda: {"x": np.float32([1.0, value])}, None, [])
    assert (found.bitwise, found.largest_difference) == (True, 0.0)
    found, _ = repeated(first, lambda: {"x": np.float32([1.0, 2.0])}, None, [])
    assert (found.bitwise, found.largest_difference, found.reason) == (False, None, "a difference is not finite")
    found, _ = repeated(first, lambda: first, lambda count: {"x": np.float32([count, value])}, [1, 2])
    assert (found.threads_bitwise, found.threads_difference, found.reason) == (False, 1.0, None)
    found, _ = repeated(first, lambda: first, lambda count: {"x": np.float32([1.0, count])}, [1, 2])
    assert (found.threads_bitwise, found.threads_difference, found.reason) == (
        *(False, None),
        "a difference is not finite",
    )


@pytest.mark.parametrize(("by", "bitwise"), [(0.0, True), (0.25, False)])
def test_numbers_of_threads_are_compared(by: float, bitwise: bool) -> None:
    asked = []

    def with_threads(count: int) -> Arrays:
        asked.append(count)
        return moved(by if count == 4 else 0.0)

    found, _ = repeated(FIRST, lambda: FIRST, with_threads, [1, 2, 4])
    assert asked == found.thread_counts == [1, 2, 4]
    assert (found.bitwise, found.threads_bitwise, found.threads_difference) == (True, bitwise, by)


def test_a_single_number_of_threads_is_compared_with_none() -> None:
    found, _ = repeated(FIRST, lambda: FIRST, lambda count: FIRST, [1])
    assert (found.thread_counts, found.threads_bitwise, found.threads_difference) == ([1], None, None)


def test_the_checksum_is_that_of_all_arrays_in_any_order() -> None:
    assert checksum(FIRST) == checksum(dict(reversed(FIRST.items()))) != checksum(moved(1.0))
    assert checksum({"x": FIRST["x"].T}) == checksum({"x": np.ascontiguousarray(FIRST["x"].T)})
