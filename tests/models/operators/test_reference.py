"""The reference of each operator: its value against plain NumPy, its gradients against central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hpcbench.models.operators.catalog import OPERATORS, operator_of
from hpcbench.models.operators.operator import BOTH, INDEX, OF_INPUTS, OF_WEIGHTS, Operator
from hpcbench.models.operators.reference import result_of
from hpcbench.models.operators.values import arrays_of, cotangent_of
from hpcbench.models.reference.gradients import gradients
from hpcbench.models.reference.variable import ROUNDINGS, Variable
from hpcbench.node.worker.validation.array_errors import FACTOR
from tests.models.operators import plain_numpy
from tests.models.operators.small_sizes import CASES, IDS, SIZES

STEP = 1e-6
SINGLE = ROUNDINGS["float32"]
COMPARABLE = [case for case in CASES if case[0] != "dropout"]
over_operators = pytest.mark.parametrize(
    ("name", "sizes"), COMPARABLE, ids=[name for name in IDS if not name.startswith("dropout")]
)


def evaluated(operator: Operator, arrays: dict[str, Any]) -> tuple[Variable, dict[str, Variable]]:
    described = operator.arrays()
    indices = {name: array for name, array in arrays.items() if described[name].role == INDEX}
    sources = {name: Variable(arrays[name].astype(float), SINGLE) for name in described if name not in indices}
    return result_of(operator, sources, indices), sources


def test_there_is_a_size_for_each_operator() -> None:
    assert set(SIZES) == set(OPERATORS)
    assert set(plain_numpy.FORWARD) == set(OPERATORS) - {"dropout"}


@over_operators
@pytest.mark.parametrize("seed", range(3))
def test_the_result_is_that_of_plain_numpy(name: str, sizes: dict[str, Any], seed: int) -> None:
    operator = operator_of(name, sizes)
    arrays = arrays_of(operator, seed, 0, "float32")
    result, _ = evaluated(operator, arrays)
    exact = {each: array.astype(float) if array.dtype == np.float32 else array for each, array in arrays.items()}
    assert result.shape == operator.output().shape
    np.testing.assert_allclose(result.value, plain_numpy.forward(operator, exact), rtol=1e-12, atol=1e-12)
    difference = np.abs(plain_numpy.forward(operator, arrays) - result.value)
    assert (difference <= FACTOR * (np.zeros(result.shape) if result.error is None else result.error)).all()


@over_operators
@pytest.mark.parametrize("phase", [OF_INPUTS, OF_WEIGHTS, BOTH])
def test_the_gradients_are_central_differences(name: str, sizes: dict[str, Any], phase: str) -> None:
    operator = operator_of(name, sizes)
    wanted = operator.gradients(phase)
    if not wanted:
        return
    arrays, numbers = arrays_of(operator, 1, 0, "float32"), np.random.default_rng(0)
    cotangent = cotangent_of(operator, 1, 0, "float32").astype(float)
    result, sources = evaluated(operator, arrays)
    found = gradients(result, Variable(cotangent, SINGLE), [sources[each] for each in wanted])
    for each, gradient in zip(wanted, found, strict=True):
        assert gradient.shape == arrays[each].shape
        direction = numbers.normal(size=gradient.shape)
        slope = sum(
            sign
            * (evaluated(operator, {**arrays, each: arrays[each] + sign * STEP * direction})[0].value * cotangent).sum()
            for sign in (1, -1)
        ) / (2 * STEP)
        scale = np.linalg.norm(gradient.value) * np.linalg.norm(direction)
        assert (gradient.value * direction).sum() == pytest.approx(slope, abs=1e-7 * scale)
        assert scale > 0


def test_a_random_operator_has_no_reference() -> None:
    with pytest.raises(NotImplementedError, match="has no reference"):
        evaluated(operator_of("dropout", {}), arrays_of(operator_of("dropout", {"size": 2}), 0, 0, "float32"))


def test_the_softmax_of_large_numbers_is_finite() -> None:
    operator = operator_of("softmax", {"rows": 1, "columns": 3})
    result, _ = evaluated(operator, {"x": np.array([[1000.0, 999.0, -1000.0]])})
    np.testing.assert_allclose(result.value[0, :2], [1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))])
