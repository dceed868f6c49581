"""The error of an array: norms of the difference to its reference, in ulps, and in bounds of rounding errors."""

import math
from typing import Optional, Tuple

import numpy

from ....core.validation.result import ArrayError
from ....models.reference.variable import Variable

# Rounding errors of correct kernels stay below this multiple of the probabilistic bound, measured on all frameworks.
FACTOR = 4.0
_DIGITS = {"float64": 53, "float32": 24, "bfloat16": 8, "float16": 11}
_SMALLEST = {"float64": -1074, "float32": -149, "bfloat16": -133, "float16": -24}  # exponents of the smallest numbers


def array_error(name: str, found: "numpy.ndarray", reference: Variable, dtype: str) -> ArrayError:
    """Return the error of an array of a data type. Errors that are not finite are None."""
    expected = reference.value
    if found.shape != expected.shape:
        reason = "the shape is %s instead of %s" % (found.shape, expected.shape)
        return ArrayError(name, None, None, None, None, None, None, None, None, [], reason)
    difference = numpy.array(numpy.abs(found.astype(numpy.float64) - expected))
    difference[~numpy.isfinite(difference)] = numpy.inf
    ratios = _ratios(difference, reference.error)
    norms, sizes = _norms(difference), _norms(expected)
    relative = [finite(norm / size) if size > 0 else None for norm, size in zip(norms, sizes)]
    worst = numpy.unravel_index(int(ratios.argmax()), ratios.shape)
    return ArrayError(
        array=name,
        l1=finite(norms[0]),
        l2=finite(norms[1]),
        max=finite(norms[2]),
        relative_l1=relative[0],
        relative_l2=relative[1],
        relative_max=relative[2],
        ulps=finite(float((difference / ulp(expected, dtype)).max())),
        bound_ratio=finite(float(ratios.max())),
        worst=[int(index) for index in worst],
        reason=_reason(difference, ratios),
    )


def finite(number: float) -> Optional[float]:
    """Return a number for a record: None if it is not finite, which JSON does not have."""
    return number if math.isfinite(number) else None


def _reason(difference: "numpy.ndarray", ratios: "numpy.ndarray") -> Optional[str]:
    """Return why errors are not finite; None if all are."""
    count = int(numpy.isinf(difference).sum())
    if count:
        return "%d of %d elements are not finite" % (count, difference.size)
    return "an element without rounding errors is wrong" if numpy.isinf(ratios).any() else None


def ulp(values: "numpy.ndarray", dtype: str) -> "numpy.ndarray":
    """Return the distance to the next number of a data type, for each value."""
    exponents = numpy.maximum(numpy.frexp(values)[1] - _DIGITS[dtype], _SMALLEST[dtype])
    distance: numpy.ndarray = numpy.ldexp(1.0, numpy.where(values == 0, _SMALLEST[dtype], exponents))
    return distance


def _ratios(difference: "numpy.ndarray", bound: "Optional[numpy.ndarray]") -> "numpy.ndarray":
    """Return the ratio of each difference to FACTOR times its bound: 0 if both are 0."""
    bounds = numpy.zeros(difference.shape) if bound is None else FACTOR * bound.astype(numpy.float64)
    with numpy.errstate(divide="ignore", invalid="ignore"):
        return numpy.where(difference == 0, 0.0, difference / bounds)


def _norms(array: "numpy.ndarray") -> Tuple[float, float, float]:
    """Return the L1, L2 and maximum norm."""
    magnitudes = numpy.abs(array)
    return float(magnitudes.sum()), float(numpy.sqrt((magnitudes**2).sum())), float(magnitudes.max())
