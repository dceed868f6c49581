"""Bounds of errors: how they add up, and the error with which a result is stored."""

import numpy

from .variable import Errors, NDArray, Parents, Variable


def rounded(value: NDArray, like: Variable, error: Errors, parents: Parents, ulps: float = 1.0) -> Variable:
    """Return a result that is stored with an error of `ulps` units roundoff, in addition to `error`."""
    own = None
    if ulps:
        own = numpy.float32(like.rounding.results * ulps) * magnitude(value) + numpy.float32(like.rounding.tiny)
    return Variable(value, like.rounding, quadrature(error, own), parents)


def quadrature(first: Errors, second: Errors) -> Errors:
    """Return the error of two independent errors together."""
    if first is None or second is None:
        return second if first is None else first
    return numpy.hypot(first, second)


def scaled(error: Errors, factor: NDArray) -> Errors:
    """Return the error of a product with a factor."""
    return None if error is None else error * magnitude(factor)


def squared_product(a: Errors, b: Errors) -> Errors:
    """Return the squared error of a product of magnitudes of which one array is an error."""
    return None if a is None or b is None else (a**2) @ (b**2)


def magnitude(array: NDArray) -> NDArray:
    """Return the absolute values in float32, the data type of errors."""
    result: NDArray = numpy.abs(array).astype(numpy.float32)
    return result
