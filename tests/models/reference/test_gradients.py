"""Reverse-mode differentiation: which gradients are computed, and from what."""

from __future__ import annotations

import tracemalloc
from functools import reduce

import numpy as np
import pytest

from hpcbench.models.reference.functions import (
    add,
    concatenate,
    constant,
    multiply,
    relu,
    reshape,
    scale,
    subtract,
    take,
)
from hpcbench.models.reference.gradients import gradients
from hpcbench.models.reference.products import matmul, sum_of_shares
from hpcbench.models.reference.variable import ROUNDINGS, Product, Variable

SINGLE = ROUNDINGS["float32"]


def of(*numbers: float) -> Variable:
    return Variable(np.array(numbers), SINGLE)


def test_the_gradients_of_a_variable_that_is_used_twice_add_up() -> None:
    x, y = of(2.0, 3.0), of(5.0, 7.0)
    found = gradients(add(multiply(x, y), multiply(x, x)), of(1.0, 10.0), [x, y])
    np.testing.assert_allclose(found[0].value, [5 + 4, 10 * (7 + 6)])
    np.testing.assert_allclose(found[1].value, [2, 30])
    assert found[0].error is not None


def test_a_source_that_the_output_does_not_depend_on_is_an_error() -> None:
    x, y = of(1.0), of(2.0)
    with pytest.raises(ValueError, match="the output does not depend on source 1"):
        gradients(scale(x, 2.0), of(1.0), [x, y])


def test_a_source_may_be_the_output_or_lead_to_another_source() -> None:
    x = of(3.0)
    inner = multiply(x, x)
    output = scale(inner, 2.0)
    found = gradients(output, of(1.0), [output, inner, x])
    assert [float(each.value[0]) for each in found] == [1, 2, 12]


def test_only_what_leads_to_a_source_is_computed() -> None:
    def never(g: Variable) -> Variable:
        raise AssertionError("this gradient was not asked for")

    x, other = of(1.0), of(2.0)
    unwanted = Variable(other.value, SINGLE, None, ((other, never),))
    both = Variable(x.value, SINGLE, None, ((x, lambda g: g), (other, never)))
    output = add(multiply(both, unwanted), unwanted)
    (found,) = gradients(output, of(1.0), [x])
    assert found.value == [2.0]
    with pytest.raises(AssertionError, match="not asked for"):
        gradients(output, of(1.0), [other])


def test_a_chain_may_be_longer_than_the_stack_of_python() -> None:
    x = of(1.0)
    result = x
    for _ in range(5000):
        result = add(result, constant(x, 1.0))
    (found,) = gradients(result, of(2.0), [x])
    assert found.value == [2.0]


def test_the_cotangent_is_not_changed() -> None:
    x, cotangent = of(-1.0, 2.0), of(3.0, 4.0)
    found = gradients(subtract(relu(x), x), cotangent, [x])
    np.testing.assert_allclose(found[0].value, [-3, 0])
    np.testing.assert_array_equal(cotangent.value, [3, 4])


@pytest.mark.parametrize(
    ("dtype", "digits", "smallest"), [("float32", 24, 2.0**-126), ("bfloat16", 8, 2.0**-126), ("float16", 11, 2.0**-24)]
)
def test_the_roundings_are_those_of_the_data_types(dtype: str, digits: int, smallest: float) -> None:
    rounding = ROUNDINGS[dtype]
    assert rounding == (2.0**-24, 2.0**-digits, smallest)
    if dtype != "bfloat16":
        assert rounding.results == np.finfo(dtype).eps / 2


@pytest.mark.parametrize("terms", [1, 3, 5])
def test_the_sum_of_products_over_time_steps_has_the_value_and_the_bound_of_single_ones(terms: int) -> None:
    numbers = np.random.default_rng(0)
    shapes = ((600, terms), (terms, 90))
    factors = [
        [Variable(numbers.normal(size=shape), SINGLE, np.full(shape, 1e-7, np.float32)) for shape in shapes]
        for _ in range(4)
    ]
    factors[1][0].value[7] = 0
    found = sum_of_shares([Product(left, right) for left, right in factors])
    one_by_one = reduce(add, [matmul(left, right) for left, right in factors])
    assert np.allclose(found.value, one_by_one.value, rtol=1e-12)
    assert found.error is not None
    assert np.allclose(found.error, one_by_one.error, rtol=1e-4)


def test_slices_of_a_gradient_that_overlap_are_added() -> None:
    x = of(*range(6))
    for first_end, expected in ((2, [1, 1, 2, 2, 2, 2]), (4, [1, 1, 3, 3, 2, 2])):
        first, second = (take(x, (part,)) for part in (slice(0, first_end), slice(2, 6)))
        both = concatenate([first, add(second, second)], 0)
        (gradient,) = gradients(both, Variable(np.ones(both.shape), x.rounding), [x])
        assert gradient.value.tolist() == expected


def test_the_gradient_of_time_steps_takes_the_memory_of_one_array() -> None:
    steps, width = 200, 1000
    x = Variable(np.ones((steps, width)), SINGLE)
    total = concatenate([reshape(take(x, (step,)), (1, width)) for step in range(steps)], 0)
    cotangent = Variable(np.ones((steps, width)), x.rounding)
    tracemalloc.start()
    (gradient,) = gradients(total, cotangent, [x])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert gradient.value.sum() == steps * width
    assert peak < 10 * gradient.value.nbytes
