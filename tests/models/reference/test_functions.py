"""Each function of the reference: its value, its gradient, and the bound of the error of the same in float32."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from hpcbench.models.reference import functions as f
from hpcbench.models.reference import products
from hpcbench.models.reference.gradients import gradients
from hpcbench.models.reference.variable import ROUNDINGS, Variable
from hpcbench.models.reference.windows import windows
from hpcbench.node.worker.validation.array_errors import FACTOR

Array = Any
SINGLE = ROUNDINGS["float32"]
UNIT = 2.0**-24
INDEX = np.array([[2, 0], [2, 2]])
MASK = np.tri(3, 4)
STEP = 1e-6


class Case(NamedTuple):
    """A function of variables, the same in NumPy for arrays of any precision, the shapes, and the least value."""

    function: Callable[..., Variable]
    plain: Callable[..., Array]
    shapes: Sequence[tuple[int, ...]]
    least: float = -2.0


def _folded_windows(x: Array) -> Array:
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0)))
    parts = [padded[:, :, row : row + 5 : 2, column : column + 3] for row in (0, 1, 2) for column in (0, 1)]
    return np.stack(parts, 2).reshape(2, 2, 3, 2, 3, 3)


CASES = {
    "add": Case(f.add, lambda a, b: a + b, [(3, 4), (4,)]),
    "add to more dimensions": Case(f.add, lambda a, b: a + b, [(3, 1), (2, 3, 4)]),
    "subtract": Case(f.subtract, lambda a, b: a - b, [(3, 4), (3, 1)]),
    "negative": Case(f.negative, lambda a: -a, [(3, 4)]),
    "multiply": Case(f.multiply, lambda a, b: a * b, [(3, 4), (4,)]),
    "multiply by itself": Case(lambda a: f.multiply(a, a), lambda a: a * a, [(3, 4)]),
    "scale": Case(lambda a: f.scale(a, 0.3), lambda a: a * a.dtype.type(0.3), [(5,)]),
    "divide": Case(f.divide, lambda a, b: a / b, [(3, 4), (3, 1)], 0.1),
    "reciprocal_root": Case(f.reciprocal_root, lambda a: 1 / np.sqrt(a), [(3, 4)], 0.1),
    "exp": Case(f.exp, np.exp, [(3, 4)]),
    "log": Case(f.log, np.log, [(3, 4)], 0.1),
    "tanh": Case(f.tanh, np.tanh, [(3, 4)]),
    "sigmoid": Case(f.sigmoid, lambda a: 1 / (1 + np.exp(-a)), [(3, 4)]),
    "erf": Case(f.erf, special.erf, [(3, 4)]),
    "relu": Case(f.relu, lambda a: np.maximum(a, 0), [(3, 4)]),
    "masked": Case(lambda a: f.masked(a, MASK), lambda a: a * MASK.astype(a.dtype), [(3, 4)]),
    "maximum": Case(lambda a: f.maximum(a, (0, 2)), lambda a: a.max((0, 2)), [(3, 2, 4)]),
    "total": Case(lambda a: f.total(a, (0, 2)), lambda a: a.sum((0, 2)), [(3, 2, 4)]),
    "total of the last": Case(lambda a: f.total(a, (-1,)), lambda a: a.sum(-1), [(3, 2, 4)]),
    "mean": Case(lambda a: f.mean(a, (1,)), lambda a: a.mean(1), [(3, 2, 4)]),
    "matmul": Case(products.matmul, lambda a, b: a @ b, [(3, 4), (4, 2)]),
    "matmul of batches": Case(products.matmul, lambda a, b: a @ b, [(2, 5, 3, 4), (2, 5, 4, 2)]),
    "swap": Case(f.swap, lambda a: a.swapaxes(-1, -2), [(2, 3, 4)]),
    "transpose": Case(lambda a: f.transpose(a, (2, 0, 1)), lambda a: a.transpose(2, 0, 1), [(2, 3, 4)]),
    "reshape": Case(lambda a: f.reshape(a, (6, 2)), lambda a: a.reshape(6, 2), [(3, 4)]),
    "take a slice": Case(lambda a: f.take(a, (slice(None), 1)), lambda a: a[:, 1], [(3, 4)]),
    "take rows": Case(lambda a: f.take(a, INDEX), lambda a: a[INDEX], [(3, 4)]),
    "concatenate": Case(
        lambda a, b: f.concatenate([a, b], 1), lambda a, b: np.concatenate([a, b], 1), [(3, 4), (3, 2)]
    ),
    "windows": Case(lambda a: windows(a, (3, 2), (2, 1), (1, 0)), _folded_windows, [(2, 2, 5, 4)]),
}
over_cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
seeds = st.integers(0, 2**32 - 1)


def drawn(case: Case, seed: int, dtype: type = np.float64) -> list[Array]:
    numbers = np.random.default_rng(seed)
    return [numbers.uniform(case.least, 2.0, shape).astype(np.float32).astype(dtype) for shape in case.shapes]


def variables(arrays: list[Array], errors: Sequence[Array | None] | None = None) -> list[Variable]:
    given_errors = errors or [None] * len(arrays)
    return [Variable(array, SINGLE, error) for array, error in zip(arrays, given_errors, strict=True)]


def bound(variable: Variable) -> Array:
    return np.zeros(variable.shape) if variable.error is None else variable.error.astype(np.float64)


@over_cases
@given(seed=seeds)
def test_the_value_is_that_of_numpy(case: Case, seed: int) -> None:
    arrays = drawn(case, seed)
    np.testing.assert_allclose(case.function(*variables(arrays)).value, case.plain(*arrays), rtol=1e-13, atol=1e-15)


@over_cases
@given(seed=seeds)
def test_the_gradient_is_the_central_difference(case: Case, seed: int) -> None:
    arrays, numbers = drawn(case, seed), np.random.default_rng(seed + 1)
    sources = variables(arrays)
    result = case.function(*sources)
    cotangent, directions = numbers.normal(size=result.shape), [numbers.normal(size=each.shape) for each in arrays]
    found = gradients(result, Variable(cotangent, SINGLE), sources)
    above, below = (
        case.plain(*(array + sign * STEP * each for array, each in zip(arrays, directions, strict=True)))
        for sign in (1, -1)
    )
    slope = ((above - below) * cotangent).sum() / (2 * STEP)
    gradient = sum((one.value * each).sum() for one, each in zip(found, directions, strict=True))
    if case.function is f.relu and min(abs(array).min() for array in arrays) < 10 * STEP:
        return  # the difference is across the kink
    assert [one.shape for one in found] == [array.shape for array in arrays]
    assert gradient == pytest.approx(slope, rel=1e-6, abs=1e-6)


@over_cases
@given(seed=seeds)
def test_the_same_in_float32_is_within_the_bound(case: Case, seed: int) -> None:
    result = case.function(*variables(drawn(case, seed)))
    single = case.plain(*drawn(case, seed, np.float32))
    assert single.dtype == np.float32
    assert (np.abs(single - result.value) <= FACTOR * bound(result)).all()


@over_cases
@given(seed=seeds)
def test_errors_of_the_operands_are_within_the_bound(case: Case, seed: int) -> None:
    arrays, numbers = drawn(case, seed), np.random.default_rng(seed + 1)
    errors = [(1e-3 * numbers.uniform(size=array.shape)).astype(np.float32) for array in arrays]
    signs = [numbers.choice([-1, 1], array.shape) for array in arrays]
    moved = [array + error * sign for array, error, sign in zip(arrays, errors, signs, strict=True)]
    result = case.function(*variables(arrays, errors))
    if result.error is None:  # the maximum is that of exact numbers
        assert case is CASES["maximum"]
        return
    second_order = 1e-6  # the product of two errors of up to 1e-3, which a bound of first order leaves out
    assert (np.abs(case.plain(*moved) - result.value) <= FACTOR * bound(result) + second_order).all()
    assert bound(result).sum() > 100 * bound(case.function(*variables(arrays))).sum()


def test_the_bound_of_a_product_is_that_of_a_random_walk_and_of_its_operands() -> None:
    a, b = np.array([[3.0, -4.0]]), np.array([[2.0], [5.0]])
    exact = products.matmul(*variables([a, b]))
    assert bound(exact) == pytest.approx(UNIT * math.sqrt(2 * (6**2 + 20**2 + 14**2) + 14**2), rel=1e-6)
    with_error = products.matmul(*variables([a, b], [np.float32([[0.1, 0.2]]), None]))
    assert bound(with_error) == pytest.approx(np.hypot(0.1 * 2, 0.2 * 5), rel=1e-6)


def test_the_error_of_stored_sums_is_that_of_each_partial_sum() -> None:
    a, b = (Variable(np.ones(shape), ROUNDINGS["float16"]) for shape in ((1, 6), (6, 1)))
    expected = 2.0**-11 * math.sqrt(2**2 + 4**2 + 6**2 + 6**2)
    assert bound(products.matmul(a, b, parts=3)) == pytest.approx(expected, rel=1e-4)


def test_a_sum_with_0_is_exact() -> None:
    a, b = variables([np.array([0.0, 1.0, 1.0]), np.array([1 / 3, 0.0, 1 / 3])])
    np.testing.assert_array_equal(f.add(a, b).error == 0, [True, True, False])


@pytest.mark.parametrize("terms", [100, 10_000])
def test_operands_in_tf32_are_beyond_the_bound_of_long_sums_and_float32_is_far_below(terms: int) -> None:
    numbers = np.random.default_rng(terms)
    a, b = (numbers.uniform(-1, 1, shape).astype(np.float32) for shape in ((20, terms), (terms, 20)))
    product = products.matmul(*variables([a.astype(float), b.astype(float)]))
    rough = [(each.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) for each in (a, b)]
    for operands, least, most in (([a, b], 0.0, 0.7), (rough, 10.0, math.inf)):
        ratio = (np.abs(operands[0] @ operands[1] - product.value) / (FACTOR * bound(product))).max()
        assert least < ratio < most


def test_products_of_16_bits_add_up_in_float32_and_are_stored_in_16() -> None:
    a, b = (Variable(np.ones(shape), ROUNDINGS["bfloat16"]) for shape in ((1, 100), (100, 1)))
    assert bound(products.matmul(a, b)) == pytest.approx(100 * 2.0**-8, rel=1e-3)
    assert bound(f.total(a, (1,))) == pytest.approx(2.0**-8 * math.sqrt(100 * (100 + 100**2) + 100**2), rel=1e-6)


@given(seed=seeds)
def test_sums_of_16_bits_that_are_stored_after_each_part_are_within_the_bound(seed: int) -> None:
    numbers, half = np.random.default_rng(seed), ROUNDINGS["float16"]
    a, b = (Variable(numbers.normal(size=shape).astype(np.float16).astype(float), half) for shape in ((5, 60), (60, 4)))
    product = products.matmul(f.swap(f.swap(a)), b, parts_of_gradient=2)
    cotangent = Variable(numbers.normal(size=product.shape).astype(np.float16).astype(float), half)
    stored = np.zeros((5, 4), np.float16)
    for terms in np.split(np.arange(60), 12):
        stored += (a.value[:, terms] @ b.value[terms]).astype(np.float16)
    within = products.matmul(a, b, parts=12)
    assert (np.abs(stored - within.value) <= FACTOR * bound(within)).all()
    assert (bound(within) > bound(products.matmul(a, b))).all()
    (gradient,) = gradients(product, cotangent, [a])
    expected = products.matmul(cotangent, f.swap(b), parts=2)
    np.testing.assert_array_equal(gradient.error, expected.error)
    single = [Variable(each.value, SINGLE) for each in (a, b)]
    np.testing.assert_array_equal(bound(products.matmul(*single, parts=12)), bound(products.matmul(*single)))


@pytest.mark.parametrize("name", ["negative", "relu", "masked", "maximum", "swap", "transpose", "reshape"])
def test_what_only_moves_numbers_is_exact(name: str) -> None:
    assert CASES[name].function(*variables(drawn(CASES[name], 1))).error is None


def test_the_gradient_of_relu_is_uncertain_where_the_sign_is() -> None:
    source = Variable(np.array([1e-9, 1.0, -1.0]), SINGLE, np.float32([1e-8, 1e-8, 1e-8]))
    (gradient,) = gradients(f.relu(source), Variable(np.full(3, 5.0), SINGLE), [source])
    np.testing.assert_array_equal(gradient.value, [5, 5, 0])
    np.testing.assert_array_equal(gradient.error, [5, 0, 0])


def test_gradients_of_equal_indices_add_up_with_a_bound() -> None:
    table = Variable(np.zeros((3, 1)), SINGLE)
    taken = f.take(table, np.array([1, 1, 1, 2]))
    (gradient,) = gradients(taken, Variable(np.array([[1.0], [2], [3], [4]]), SINGLE), [table])
    np.testing.assert_array_equal(gradient.value, [[0], [6], [4]])
    assert bound(gradient)[1, 0] == pytest.approx(UNIT * np.hypot(6 * math.sqrt(3), 6), rel=1e-6)
    assert bound(gradient)[0, 0] == np.float32(SINGLE.tiny)
    (gradient,) = gradients(f.take(table, np.array([2, 1])), Variable(np.array([[1.0], [2]]), SINGLE), [table])
    np.testing.assert_array_equal(gradient.value, [[0], [2], [1]])
    assert gradient.error is None


def test_the_gradient_of_erf_has_the_error_of_its_slope() -> None:
    values = np.float32([-3.7, -2.9, -1.1, 0.4, 2.3, 3.3])
    source = Variable(values.astype(np.float64), SINGLE)
    (gradient,) = gradients(f.erf(source), Variable(np.ones(6), SINGLE), [source])
    assert (bound(gradient) > 4 * UNIT * gradient.value).all()
    single = np.float32(2 / math.sqrt(math.pi)) * np.exp(-(values * values))
    assert (np.abs(single - gradient.value) <= FACTOR * bound(gradient)).all()


@pytest.mark.parametrize("value", [-80.0, -40.0, -20.0, 0.0, 20.0, 80.0])
def test_sigmoid_is_accurate_far_from_0(value: float) -> None:
    result = f.sigmoid(Variable(np.array([value]), SINGLE))
    assert result.value[0] == pytest.approx(special.expit(value), rel=1e-13)
    assert abs(special.expit(np.float32(value)) - result.value[0]) <= FACTOR * bound(result)[0]
