"""The error of an array: norms of the difference from its reference, in ulps, and in bounds of rounding errors."""

import math
from typing import Iterator, Optional, Tuple

import numpy

from ....core.validation.result import ArrayError
from ....models.reference.errors import blocks
from ....models.reference.variable import Errors, Variable

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
    errors = _Total()
    for numbers, values, bound in _parts(found, expected, reference.error):
        errors.add(numbers.astype(numpy.float64), values, bound, dtype)
    return errors.of(name, expected.shape)


def _parts(
    found: "numpy.ndarray", expected: "numpy.ndarray", bounds: Errors
) -> "Iterator[Tuple[numpy.ndarray, numpy.ndarray, Errors]]":
    """Return consecutive elements of the arrays, some at a time, which stay in the cache."""
    # The elements of a transposed array are not in one piece: some of its rows are copied at a time.
    arrays = [found, expected] if bounds is None else [found, expected, bounds]
    if expected.flags.c_contiguous:
        arrays = [array.reshape(-1) for array in arrays]
    for rows in blocks(arrays[1].shape):
        flat = [array[rows].reshape(-1) for array in arrays]
        for part in blocks(flat[0].shape):
            found_part, expected_part, *bound = (array[part] for array in flat)
            yield found_part, expected_part, bound[0] if bound else None


class _Total:
    """The errors of an array, of which some elements are added at a time, which stay in the cache."""

    def __init__(self) -> None:
        self._sums = numpy.zeros((2, 2))  # of magnitudes and of squares: of the difference, and of the reference
        self._largest = numpy.zeros(2)
        self._ulps = self._ratio = 0.0
        self._size = self._infinite = self._worst = 0

    def add(self, found: "numpy.ndarray", expected: "numpy.ndarray", bound: Errors, dtype: str) -> None:
        """Add consecutive elements."""
        difference = numpy.abs(found - expected)
        is_finite = numpy.isfinite(difference)
        if not is_finite.all():
            difference[~is_finite] = numpy.inf
            self._infinite += int((~is_finite).sum())
        for place, array in enumerate((difference, numpy.abs(expected))):
            self._sums[place] += array.sum(), numpy.vdot(array, array)
            self._largest[place] = max(self._largest[place], array.max(initial=0))
        if difference.any():
            self._ulps = max(self._ulps, float((difference / ulp(expected, dtype)).max()))
            ratios = _ratios(difference, bound)
            worst = int(ratios.argmax())
            if ratios[worst] > self._ratio:
                self._ratio, self._worst = float(ratios[worst]), self._size + worst
        self._size += found.size

    def of(self, name: str, shape: Tuple[int, ...]) -> ArrayError:
        """Return the errors of all elements, which are an array of this shape."""
        norms, sizes = ([sums[0], sums[1] ** 0.5, most] for sums, most in zip(self._sums, self._largest))
        relative = [finite(float(norm / size)) if size > 0 else None for norm, size in zip(norms, sizes)]
        l1, l2, largest = (finite(float(norm)) for norm in norms)
        return ArrayError(
            array=name,
            l1=l1,
            l2=l2,
            max=largest,
            relative_l1=relative[0],
            relative_l2=relative[1],
            relative_max=relative[2],
            ulps=finite(self._ulps),
            bound_ratio=finite(self._ratio),
            worst=[int(index) for index in numpy.unravel_index(self._worst, shape)],
            reason=self._reason(),
        )

    def _reason(self) -> Optional[str]:
        """Return why errors are not finite; None if all are."""
        if self._infinite:
            return "%d of %d elements are not finite" % (self._infinite, self._size)
        return "an element that must be exact differs from the reference" if math.isinf(self._ratio) else None


def sum_of_squares(array: "numpy.ndarray") -> float:
    """Return the sum of the squares of an array, in float64."""
    numbers = array.ravel(order="K")  # in the order of memory, without a copy of transposed arrays
    parts = (numbers[part].astype(numpy.float64, copy=False) for part in blocks(numbers.shape))
    return float(sum(numpy.vdot(part, part) for part in parts))


def product_of(first: "numpy.ndarray", second: "numpy.ndarray") -> float:
    """Return the sum of the products of two arrays of one shape, in float64."""
    one, other = first.reshape(-1), second.reshape(-1)
    in_float64 = (
        [array[part].astype(numpy.float64, copy=False) for array in (one, other)] for part in blocks(one.shape)
    )
    return float(sum(numpy.vdot(*pair) for pair in in_float64))


def finite(number: float) -> Optional[float]:
    """Return a number for a record: None if it is not finite, which JSON does not have."""
    return number if math.isfinite(number) else None


def ulp(values: "numpy.ndarray", dtype: str) -> "numpy.ndarray":
    """Return the distance to the next number of a data type, for each value."""
    exponents = numpy.maximum(numpy.frexp(values)[1] - _DIGITS[dtype], _SMALLEST[dtype])
    distance: numpy.ndarray = numpy.ldexp(1.0, numpy.where(values == 0, _SMALLEST[dtype], exponents))
    return distance


def _ratios(difference: "numpy.ndarray", bound: Errors) -> "numpy.ndarray":
    """Return the ratio of each difference to FACTOR times its bound: 0 without a difference.

    A bound that is not a number is infinite: float32 was too small for it.
    """
    bounds = numpy.zeros(difference.shape) if bound is None else FACTOR * bound.astype(numpy.float64)
    bounds[numpy.isnan(bounds)] = numpy.inf
    with numpy.errstate(divide="ignore", invalid="ignore"):
        ratios = numpy.where(difference == 0, 0.0, difference / bounds)
    ratios[numpy.isnan(ratios)] = numpy.inf  # of infinite differences and bounds
    return ratios
