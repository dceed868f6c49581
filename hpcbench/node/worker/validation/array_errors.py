"""The error of an array: norms of the difference to its reference, in ulps, and in bounds of rounding errors."""

from typing import Optional

import numpy

from ....core.validation.result import ArrayError
from ....models.reference.variable import Variable

# Rounding errors of correct kernels stay below this multiple of the probabilistic bound, measured on all frameworks.
FACTOR = 4.0
_DIGITS = {"float64": 53, "float32": 24, "bfloat16": 8, "float16": 11}
_SMALLEST = {"float64": -1074, "float32": -149, "bfloat16": -133, "float16": -24}  # exponents of the smallest numbers


def array_error(name: str, found: "numpy.ndarray", reference: Variable, dtype: str) -> ArrayError:
    """Return the error of an array of a data type. An array of another shape has infinite errors."""
    expected = reference.value
    if found.shape != expected.shape:
        return ArrayError(name, *(numpy.inf,) * 3, None, None, None, numpy.inf, numpy.inf)
    difference = numpy.array(numpy.abs(found.astype(numpy.float64) - expected))
    difference[~numpy.isfinite(difference)] = numpy.inf
    ratios = _ratios(difference, reference.error)
    norms = (difference.sum(), _l2(difference), difference.max())
    sizes = (numpy.abs(expected).sum(), _l2(expected), numpy.abs(expected).max())
    worst = numpy.unravel_index(int(ratios.argmax()), ratios.shape)
    return ArrayError(
        name,
        *map(float, norms),
        *(_relative(norm, size) for norm, size in zip(norms, sizes)),
        ulps=float((difference / ulp(expected, dtype)).max()),
        bound_ratio=float(ratios.max()),
        worst=[int(index) for index in worst],
    )


def ulp(values: "numpy.ndarray", dtype: str) -> "numpy.ndarray":
    """Return the distance to the next number of a data type, for each value."""
    exponents = numpy.frexp(values)[1] - _DIGITS[dtype]
    return numpy.ldexp(1.0, numpy.maximum(exponents, _SMALLEST[dtype]))


def _ratios(difference: "numpy.ndarray", bound: "Optional[numpy.ndarray]") -> "numpy.ndarray":
    """Return the ratio of each difference to FACTOR times its bound: 0 if both are 0."""
    bounds = numpy.zeros(difference.shape) if bound is None else FACTOR * bound.astype(numpy.float64)
    with numpy.errstate(divide="ignore", invalid="ignore"):
        return numpy.where(difference == 0, 0.0, difference / bounds)


def _l2(array: "numpy.ndarray") -> float:
    return float(numpy.sqrt((array**2).sum()))


def _relative(norm: float, size: float) -> Optional[float]:
    return float(norm / size) if size > 0 else None
