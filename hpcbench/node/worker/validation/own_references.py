"""The reference results of an operator of the user, with bounds of rounding errors or the tolerance of the file."""

from typing import Callable, Dict, Optional

import numpy

from ....models.operators.operator import FORWARD
from ....models.reference.functions import FUNCTION_ULPS
from ....models.reference.variable import ROUNDINGS, Variable
from ...errors import Unsupported
from ...frameworks.operator_call import OUTPUT, OperatorCall, Request
from ...workload.own_operator import OwnOperator, in_float64
from .array_errors import FACTOR

Arrays = Dict[str, "numpy.ndarray"]


def references_of(
    request: Request, called_with: Callable[[Request], OperatorCall], with_output: bool = False
) -> Dict[str, Variable]:
    """Return the reference of each result by name, and with gradients also of the output if asked for.

    Gradients without `reference_backward` are those of the operator itself in float64, which the gradient check
    compares with central differences of `reference`. Without float64, they have no reference.
    """
    operator, is_forward = own(request), request.phase == FORWARD
    names = [OUTPUT] if is_forward else [*([OUTPUT] if with_output else []), *request.wanted]
    terms = {name: operator.terms(name) for name in names}  # whose errors count also without references
    arrays, cotangent = in_float64(request.arrays), request.cotangent.astype(numpy.float64)
    found = {} if is_forward else operator.reference_gradients(arrays, cotangent, request.wanted)
    if found is None:
        found = _in_float64(request._replace(dtype="float64", arrays=arrays, cotangent=cotangent), called_with)
    if OUTPUT in names:
        found = {**found, OUTPUT: operator.reference(arrays)}
    return {name: _bounded(operator, found[name], terms[name], request.dtype) for name in names if name in found}


def own(request: Request) -> OwnOperator:
    """Return the operator of a request, which is the user's."""
    assert isinstance(request.operator, OwnOperator)  # noqa: S101 - the caller has checked it
    return request.operator


def forward_of(request: Request) -> Optional[Callable[[Arrays], "numpy.ndarray"]]:
    """Return the reference of an operator of the user as a function of its arrays; None for other operators."""
    operator = request.operator
    return operator.reference if isinstance(operator, OwnOperator) else None


def tolerance_of(request: Request) -> Optional[float]:
    """Return the tolerance that the file of an operator of the user declares, in place of a bound; None without one."""
    operator = request.operator
    return operator.tolerance(request.dtype) if isinstance(operator, OwnOperator) else None


def _in_float64(request: Request, called_with: Callable[[Request], OperatorCall]) -> Arrays:
    try:
        return called_with(request).results()
    except Unsupported:
        return {}


def _bounded(operator: OwnOperator, value: "numpy.ndarray", terms: int, dtype: str) -> Variable:
    """Return a reference with its bound: of some stored results and a sum of `terms`, or the tolerance of the file.

    The bound of a sum (models/reference/variable.py) depends on its terms, which are unknown. If they are independent,
    the sum of their squares is the mean square of all sums.
    """
    rounding = ROUNDINGS[dtype]
    tolerance = operator.tolerance(dtype)
    if tolerance is not None:
        bound = numpy.full(value.shape, tolerance * numpy.abs(value).max(initial=0) / FACTOR)
    else:
        spread = numpy.sqrt((value**2).mean() + value**2)
        bound = (FUNCTION_ULPS * rounding.results + rounding.products * numpy.sqrt(terms)) * spread + rounding.tiny
    return Variable(value, rounding, bound.astype(numpy.float32))
