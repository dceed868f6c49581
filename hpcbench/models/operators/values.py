"""The values of an operator's arrays: by a seed, equal in all frameworks, and exact in the data type of the case."""

from typing import Dict

import numpy

from ..initial_weights import Numbers
from .operator import DISTINCT, INDEX, LARGEST_WINDOW, Array, Operator

_OF_COTANGENT = 1


def arrays_of(operator: Operator, seed: int, rank: int, dtype: str) -> "Dict[str, numpy.ndarray]":
    """Return the arrays of an operator by name: float32 numbers that are exact in `dtype`, or int32 indices."""
    given = operator.given()
    if given is not None:
        return {name: rounded(array, dtype) for name, array in given.items()}
    numbers = Numbers(seed, 1 + rank)
    return {name: rounded(_drawn(array, numbers), dtype) for name, array in operator.arrays().items()}


def cotangent_of(operator: Operator, seed: int, rank: int, dtype: str) -> "numpy.ndarray":
    """Return the fixed cotangent of the output, from which the backward pass starts."""
    return rounded(_drawn(operator.output(), Numbers(seed, 1 + rank, _OF_COTANGENT)), dtype)


def rounded(array: "numpy.ndarray", dtype: str) -> "numpy.ndarray":
    """Return float32 numbers rounded to a data type, to nearest even; integers and float64 are returned unchanged."""
    if array.dtype != numpy.float32 or dtype in ("float32", "float64"):
        return array
    if dtype == "float16":
        return array.astype(numpy.float16).astype(numpy.float32)
    bits = array.reshape(-1).view(numpy.uint32)
    odd = (bits >> numpy.uint32(16)) & numpy.uint32(1)
    kept = (bits + numpy.uint32(0x7FFF) + odd) & numpy.uint32(0xFFFF0000)
    result: numpy.ndarray = kept.view(numpy.float32).reshape(array.shape)
    return result


def _drawn(array: Array, numbers: Numbers) -> "numpy.ndarray":
    if array.role == INDEX:
        return numbers.integers(array.shape, array.below)
    if array.values == DISTINCT:
        return _distinct(array, numbers)
    values = numbers.uniform(array.shape, array.spread)
    if array.least:
        values += numpy.copysign(numpy.float32(array.least), values)
    if array.zeros:
        values.flat[_zero_places(array, numbers)] = 0
    return values


def _zero_places(array: Array, numbers: Numbers) -> "numpy.ndarray":
    """Return the flat places of a fraction `zeros` of the elements, at random."""
    order = numpy.argsort(numbers.uniform((array.size,), 1.0), kind="stable")
    chosen: numpy.ndarray = order[: round(array.zeros * array.size)]
    return chosen


def _distinct(array: Array, numbers: Numbers) -> "numpy.ndarray":
    """Return images (n, c, h, w) without equal numbers in any window of at most 16 x 16.

    A tile of 256 levels is repeated, in another order in each channel.
    """
    height, width = array.shape[-2:]
    rows, columns = numpy.arange(height) % LARGEST_WINDOW, numpy.arange(width) % LARGEST_WINDOW
    tile = rows[:, None] * LARGEST_WINDOW + columns
    shuffled = numpy.argsort(numbers.uniform((LARGEST_WINDOW**2,), 1.0), kind="stable")
    mixed = shuffled[tile] ^ numbers.integers((*array.shape[:-2], 1, 1), LARGEST_WINDOW**2)
    levels: numpy.ndarray = (mixed - (LARGEST_WINDOW**2 - 1) / 2) / 64
    return levels.astype(numpy.float32)
