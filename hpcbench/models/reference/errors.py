"""Bounds of errors: how they add up, and the error with which a result is stored."""

import math
from typing import Iterator, Tuple

import numpy

from .variable import Errors, NDArray, Parents, Rounding, Variable

IN_CACHE = 2**15  # numbers of an array in float64, of which a few fit into a cache of the second level


def blocks(shape: Tuple[int, ...]) -> Iterator[slice]:
    """Return slices of the first dimension, whose elements fit into a cache if there are enough of them."""
    at_a_time = max(1, IN_CACHE // max(1, math.prod(shape[1:])))
    return (slice(first, first + at_a_time) for first in range(0, shape[0], at_a_time))


def rounded(value: NDArray, like: Variable, error: Errors, parents: Parents, ulps: float = 1.0) -> Variable:
    """Return a result that is stored with an error of `ulps` units roundoff, in addition to `error`."""
    own = stored(value, like.rounding, ulps) if ulps else None
    return Variable(value, like.rounding, quadrature(error, own), parents)


def stored(value: NDArray, rounding: Rounding, ulps: float = 1.0) -> NDArray:
    """Return the error with which a result is stored."""
    return numpy.float32(rounding.results * ulps) * magnitude(value) + numpy.float32(rounding.tiny)


def quadrature(first: Errors, second: Errors) -> Errors:
    """Return the error of two independent errors together."""
    if first is None or second is None:
        return second if first is None else first
    return numpy.hypot(first, second)


def scaled(error: Errors, factor: NDArray) -> Errors:
    """Return the error of a product with a factor."""
    return None if error is None else error * magnitude(factor)


def magnitude(array: NDArray) -> NDArray:
    """Return the absolute values in float32, the data type of errors."""
    result: NDArray = numpy.abs(array, dtype=numpy.float32, casting="same_kind")
    return result
