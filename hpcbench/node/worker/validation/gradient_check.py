"""Gradients compared with central differences along random directions.

The derivative of <u, f(x)> along v is <u, J v>, and the gradient of the backward pass gives <J^T u, v>: two evaluations
for each direction, independently of the size of the Jacobian (as in torch.autograd.gradcheck, fast mode). Operators
with few inputs are checked along each of them, which is the whole Jacobian for the cotangent u.
"""

from dataclasses import replace
from functools import partial
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence

import numpy

from ....core.validation.result import GradientCheck
from ....models.operators.operator import FORWARD
from ....models.reference.variable import Variable
from ...errors import Unsupported
from ...frameworks.operator_call import OUTPUT, OperatorCall, Request
from .array_errors import finite, product_of, sum_of_squares

STEP = 1e-6
DIRECTIONS = 2
MOST_ENTRIES = 1000  # of a Jacobian that is checked as a whole
TOLERANCE = 1e-6  # of the norm of the gradient: the differences have an error of about 1e-10
TOLERANCE_16 = 1e-1  # for gradients in 16 bits, whose error was compared with its bound already
Arrays = Dict[str, "numpy.ndarray"]
Forward = Callable[[Arrays], "numpy.ndarray"]


class Checked(NamedTuple):
    """A gradient check, whether it passed, and otherwise the array whose gradient differs most."""

    check: GradientCheck
    passed: bool
    worst: Optional[str] = None


def check_gradients(
    request: Request,
    called_with: Callable[[Request], OperatorCall],
    gradients: Arrays,
    references: Dict[str, Variable],
    forward: Optional[Forward] = None,
    least_tolerance: float = 0.0,
) -> Checked:
    """Compare the gradients of the framework in float64 with differences of its forward pass, or of `forward`.

    Without float64 in the framework, compare those of the case, `gradients`, with the slopes of `forward`, or with the
    references along the directions. `least_tolerance` is relative to the norm of the gradients.
    """
    exact = request._replace(
        dtype="float64",
        arrays={name: _in_float64(array) for name, array in request.arrays.items()},
        cotangent=_in_float64(request.cotangent),
    )
    directions = _directions(request)
    try:
        call = called_with(exact)
        found, execution = call.results(), call.execution
        slopes = partial(_slopes, exact, forward or _of_framework(exact, called_with))
        checked = _checked("float64", found, slopes, directions, _norm(found), max(TOLERANCE, least_tolerance))
        differs = execution != call.problem.parameters["execution"]
        return checked._replace(check=replace(checked.check, execution=execution)) if differs else checked
    except Unsupported as error:
        reason = str(error)
    tolerance = max(1e-4 if request.dtype == "float32" else TOLERANCE_16, least_tolerance)
    if forward is not None:
        slopes = partial(_slopes, exact, forward)
        return _checked(request.dtype, gradients, slopes, directions, _norm(gradients), tolerance, reason)
    expected = {name: reference.value for name, reference in references.items()}
    slopes = partial(_products, expected)
    return _checked(request.dtype, gradients, slopes, directions, _norm(expected), tolerance, reason)


def _of_framework(exact: Request, called_with: Callable[[Request], OperatorCall]) -> Forward:
    return lambda arrays: called_with(exact._replace(phase=FORWARD, arrays=arrays)).results()[OUTPUT]


def _slopes(exact: Request, forward: Forward, directions: List[Arrays]) -> List[float]:
    """Return the derivatives of <u, f(x)> along the directions, by central differences."""

    def weighted(direction: Arrays, step: float) -> float:
        shifted = {name: numpy.multiply(each, step, dtype=numpy.float64) for name, each in direction.items()}
        for name, array in shifted.items():
            array += exact.arrays[name]
        return float(numpy.vdot(forward({**exact.arrays, **shifted}), exact.cotangent))

    return [(weighted(each, STEP) - weighted(each, -STEP)) / (2 * STEP) for each in directions]


def _checked(
    dtype: str,
    found: Arrays,
    slopes: Callable[[List[Arrays]], List[float]],
    directions: List[Arrays],
    norm: float,
    tolerance: float,
    reason: Optional[str] = None,
) -> Checked:
    """Compare gradients with the slopes along the directions, which `slopes` returns."""

    def error_along(directions: List[Arrays]) -> float:
        differences = numpy.subtract(_products(found, directions), slopes(directions))
        return float(numpy.abs(differences).max() / norm)  # which is not a number if one is not

    error = error_along(directions)
    check = GradientCheck(dtype, len(directions), finite(error), reason)
    if error <= tolerance:
        return Checked(check, passed=True)
    names = list(directions[0])
    # Directions of a single array show which of the gradients is wrong.
    of_each = [[{name: each[name]} for each in directions if each[name].any()] for name in names]
    errors = [error_along(each) for each in of_each] if len(names) > 1 else [error]
    return Checked(check, passed=False, worst=names[int(numpy.argmax(errors))])


def _directions(request: Request) -> List[Arrays]:
    """Return random signs for each array, or for few inputs and outputs each unit vector."""
    shapes = {name: request.arrays[name].shape for name in request.wanted}
    sizes = [int(numpy.prod(shape)) for shape in shapes.values()]
    if sum(sizes) * request.cotangent.size < MOST_ENTRIES:
        units = numpy.eye(sum(sizes))
        ends = numpy.cumsum(sizes)
        cut = [numpy.split(unit, ends[:-1]) for unit in units]
        return [{name: part.reshape(shape) for part, (name, shape) in zip(parts, shapes.items())} for parts in cut]
    numbers = numpy.random.RandomState(0)
    return [{name: _signs(numbers, shape) for name, shape in shapes.items()} for _ in range(DIRECTIONS)]


def _signs(numbers: "numpy.random.RandomState", shape: Sequence[int]) -> "numpy.ndarray":
    count = int(numpy.prod(shape))
    bits = numpy.unpackbits(numpy.frombuffer(numbers.bytes(count // 8 + 1), numpy.uint8))[:count]
    signs: numpy.ndarray = 2 * bits.view(numpy.int8) - numpy.int8(1)
    return signs.reshape(shape)


def _in_float64(array: "numpy.ndarray") -> "numpy.ndarray":
    return array.astype(numpy.float64) if array.dtype == numpy.float32 else array


def _products(first: Arrays, others: List[Arrays]) -> List[float]:
    """Return the inner product of the arrays with each of the others, which may be some of them only."""
    return [sum(product_of(first[name], array) for name, array in each.items()) for each in others]


def _norm(arrays: Arrays) -> float:
    """Return the L2 norm of all arrays; 1 if all are zero."""
    return sum(sum_of_squares(array) for array in arrays.values()) ** 0.5 or 1.0
