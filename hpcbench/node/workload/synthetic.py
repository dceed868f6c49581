"""Synthetic input of external models."""

import numpy

from ...models.initial_weights import Numbers
from ...models.inputs import FLOAT, TOKENS, Input

_TYPES = {FLOAT: numpy.float32, "int64": numpy.int64, "int32": numpy.int32, "bool": numpy.bool_}


def array(one: Input, size: int, numbers: Numbers) -> "numpy.ndarray":
    """Return `size` items of an input, (size, *shape): random numbers of variance 1, random tokens, or one value."""
    shape = (size, *one.shape)
    if one.value is not None:
        return numpy.full(shape, one.value, numpy.int64 if one.dtype == TOKENS else _TYPES[one.dtype])
    if one.dtype == TOKENS:
        return numbers.integers(shape, one.vocabulary or 1).astype(numpy.int64)
    return numbers.uniform(shape, 3**0.5)
