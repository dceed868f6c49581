"""Differentiable functions of variables: each computes its value, the bound of its error, and its pullback.

Pullbacks are made of the same functions, so that gradients have bounds, too.
"""

import math
from typing import Any, Callable, Sequence, Tuple

import numpy

from .errors import magnitude, quadrature, rounded, scaled, stored
from .variable import NDArray, Parents, Pullback, Share, Slice, Variable, placed

# Vector implementations of exp, tanh and erf err by a few units in the last place, in some frameworks by up to this.
FUNCTION_ULPS = 4.0
_LARGE = 4.0  # errors beyond this multiple of their bound do not occur
_ERF = numpy.vectorize(math.erf, otypes=[float])


def constant(like: Variable, value: Any) -> Variable:
    """Return an exact array with the rounding of another variable."""
    return Variable(numpy.asarray(value, numpy.float64), like.rounding)


def add(a: Variable, b: Variable) -> Variable:
    """Return a + b, with NumPy's broadcasting."""
    value = a.value + b.value
    parents: Parents = ((a, lambda g: _unbroadcast(g, a.shape)), (b, lambda g: _unbroadcast(g, b.shape)))
    own = stored(value, a.rounding) * ((a.value != 0) & (b.value != 0))  # a sum with 0 is exact
    return Variable(value, a.rounding, quadrature(quadrature(a.error, b.error), own), parents)


def subtract(a: Variable, b: Variable) -> Variable:
    """Return a - b, with NumPy's broadcasting."""
    return add(a, negative(b))


def negative(a: Variable) -> Variable:
    """Return -a, which is exact."""
    return Variable(-a.value, a.rounding, a.error, ((a, negative),))


def multiply(a: Variable, b: Variable) -> Variable:
    """Return a b, element by element, with NumPy's broadcasting."""
    error = quadrature(scaled(a.error, b.value), scaled(b.error, a.value))
    parents: Parents = (
        (a, lambda g: _unbroadcast(multiply(g, b), a.shape)),
        (b, lambda g: _unbroadcast(multiply(g, a), b.shape)),
    )
    return rounded(a.value * b.value, a, error, parents)


def scale(a: Variable, factor: float) -> Variable:
    """Return a with a constant factor."""
    return multiply(a, constant(a, factor))


def divide(a: Variable, b: Variable) -> Variable:
    """Return a / b, with NumPy's broadcasting."""
    value = a.value / b.value
    error = quadrature(scaled(a.error, 1 / b.value), scaled(b.error, value / b.value))
    parents: Parents = (
        (a, lambda g: _unbroadcast(divide(g, b), a.shape)),
        (b, lambda g: _unbroadcast(negative(multiply(divide(g, b), divide(a, b))), b.shape)),
    )
    return rounded(value, a, error, parents)


def reciprocal_root(a: Variable) -> Variable:
    """Return 1 / sqrt(a)."""
    value = 1 / numpy.sqrt(a.value)

    def pullback(g: Variable) -> Variable:
        root = Variable(value, a.rounding, result.error)
        return scale(multiply(g, multiply(root, multiply(root, root))), -0.5)

    result = rounded(value, a, scaled(a.error, value**3 / 2), ((a, pullback),), 2.0)
    return result


def exp(a: Variable) -> Variable:
    """Return e^a."""
    value = numpy.exp(a.value)
    result = _function(a, value, value, lambda g: multiply(g, _detached(result)))
    return result


def log(a: Variable) -> Variable:
    """Return the natural logarithm."""
    return _function(a, numpy.log(a.value), 1 / a.value, lambda g: divide(g, a))


def tanh(a: Variable) -> Variable:
    """Return the hyperbolic tangent."""
    value = numpy.tanh(a.value)

    def pullback(g: Variable) -> Variable:
        square = multiply(_detached(result), _detached(result))
        return multiply(g, subtract(constant(a, 1.0), square))

    result = _function(a, value, 1 - value**2, pullback)
    return result


def sigmoid(a: Variable) -> Variable:
    """Return 1 / (1 + e^-a)."""
    value = numpy.exp(-numpy.logaddexp(0.0, -a.value))  # also accurate near 0

    def pullback(g: Variable) -> Variable:
        own = _detached(result)
        return multiply(g, multiply(own, subtract(constant(a, 1.0), own)))

    result = _function(a, value, value * (1 - value), pullback)
    return result


def erf(a: Variable) -> Variable:
    """Return the error function. The bound of its own error is absolute: implementations add it to 1."""
    slope = 2 / math.sqrt(math.pi) * numpy.exp(-(a.value**2))
    own = numpy.full(a.shape, FUNCTION_ULPS * a.rounding.results, numpy.float32)

    def pullback(g: Variable) -> Variable:
        source = _detached(a)
        return multiply(g, scale(exp(negative(multiply(source, source))), 2 / math.sqrt(math.pi)))

    return Variable(_ERF(a.value), a.rounding, quadrature(scaled(a.error, slope), own), ((a, pullback),))


def relu(a: Variable) -> Variable:
    """Return max(a, 0). The gradient at 0 is 0; it is uncertain if the sign of `a` is."""
    passed = a.value > 0
    uncertain = numpy.abs(a.value) <= (0 if a.error is None else _LARGE * a.error)
    error = None if a.error is None else a.error * (passed | uncertain)

    def pullback(g: Variable) -> Variable:
        unknown = magnitude(g.value) * uncertain if uncertain.any() else None
        return Variable(g.value * passed, g.rounding, quadrature(scaled(g.error, passed), unknown))

    return Variable(a.value * passed, a.rounding, error, ((a, pullback),))


def masked(a: Variable, mask: NDArray) -> Variable:
    """Return a where the mask, of numbers 0 and 1, is 1, otherwise 0."""
    return Variable(a.value * mask, a.rounding, scaled(a.error, mask), ((a, lambda g: masked(g, mask)),))


def maximum(a: Variable, axes: Tuple[int, ...]) -> Variable:
    """Return the maximum over axes, which are removed. Exact numbers must not be equal.

    If several numbers may be the largest, the gradient of each is uncertain.
    """
    value = a.value.max(axes, keepdims=True)
    largest, shape = a.value == value, _without(a.shape, axes)
    unsure, error = numpy.zeros_like(largest), None
    if a.error is not None:
        slack = _LARGE * a.error
        candidates = a.value + slack >= (a.value - slack).max(axes, keepdims=True)
        unsure = candidates & (candidates.sum(axes, keepdims=True) > 1)
        error = (a.error * candidates).max(axes)

    def pullback(g: Variable) -> Variable:
        spread = _broadcast(reshape(g, value.shape), a.shape)
        unknown = magnitude(spread.value) * unsure if unsure.any() else None
        return Variable(spread.value * largest, g.rounding, quadrature(scaled(spread.error, largest), unknown), ())

    return Variable(value.reshape(shape), a.rounding, error, ((a, pullback),))


def total(a: Variable, axes: Tuple[int, ...]) -> Variable:
    """Return the sum over axes, which are removed."""
    count = math.prod(a.shape[axis] for axis in axes)
    error = None if a.error is None else numpy.sqrt((a.error**2).sum(axes))
    value = a.value.sum(axes)
    spread = numpy.sqrt((magnitude(a.value) ** 2).sum(axes) + magnitude(value) ** 2)
    local = numpy.float32(a.rounding.results * math.sqrt(count)) * spread if count > 1 else None
    kept = tuple(1 if axis in _positive(axes, a) else size for axis, size in enumerate(a.shape))

    def pullback(g: Variable) -> Variable:
        return _broadcast(reshape(g, kept), a.shape)

    return rounded(value, a, quadrature(error, local), ((a, pullback),), 1.0 if count > 1 else 0.0)


def sum_over(arrays: Sequence[Variable]) -> Variable:
    """Return the sum of exact arrays of one shape, which may be added up in any order."""
    first, count = arrays[0], len(arrays)
    value: NDArray = numpy.asarray(sum(each.value for each in arrays))
    squares = sum(each.squares for each in arrays)
    spread = numpy.sqrt(squares + magnitude(value) ** 2)
    local = numpy.float32(first.rounding.results * math.sqrt(count)) * spread if count > 1 else None
    parents: Parents = [(each, lambda g: g) for each in arrays]
    return rounded(value, first, local, parents, 1.0 if count > 1 else 0.0)


def mean(a: Variable, axes: Tuple[int, ...]) -> Variable:
    """Return the mean over axes, which are removed."""
    return scale(total(a, axes), 1 / math.prod(a.shape[axis] for axis in axes))


def swap(a: Variable) -> Variable:
    """Return the array with its last two dimensions exchanged."""
    result = transpose(a, (*range(len(a.shape) - 2), len(a.shape) - 1, len(a.shape) - 2))
    result.squares = a.squares.swapaxes(-1, -2)
    return result


def transpose(a: Variable, order: Sequence[int]) -> Variable:
    """Return the array with its dimensions in another order."""
    back = tuple(int(place) for place in numpy.argsort(order))
    return _moved(a, lambda array: array.transpose(order), lambda g: transpose(g, back))


def reshape(a: Variable, shape: Tuple[int, ...]) -> Variable:
    """Return the array with another shape."""
    return _moved(a, lambda array: array.reshape(shape), lambda g: reshape(g, a.shape))


def take(a: Variable, index: Any) -> Variable:
    """Return `a[index]`, for slices or an array of indices into the first dimension."""

    def pullback(g: Variable) -> Share:
        return _scattered(g, index, a.shape) if isinstance(index, numpy.ndarray) else Slice(g, index, a.shape)

    return _moved(a, lambda array: array[index], pullback)


def concatenate(parts: Sequence[Variable], axis: int) -> Variable:
    """Return the arrays joined along an axis."""
    value = numpy.concatenate([part.value for part in parts], axis)
    errors = [numpy.zeros(part.shape, numpy.float32) if part.error is None else part.error for part in parts]
    exact = all(part.error is None for part in parts)
    ends = numpy.cumsum([part.shape[axis] for part in parts])

    def pullback_of(place: int) -> Pullback:
        own = slice(int(ends[place]) - parts[place].shape[axis], int(ends[place]))
        return lambda g: take(g, (slice(None),) * axis + (own,))

    parents = [(part, pullback_of(place)) for place, part in enumerate(parts)]
    return Variable(value, parts[0].rounding, None if exact else numpy.concatenate(errors, axis), parents)


def _scattered(g: Variable, index: Any, shape: Tuple[int, ...]) -> Variable:
    """Return zeros of `shape` with the elements of `g` added at `index`."""
    order = index.argsort(axis=None, kind="stable")
    places, starts = numpy.unique(index.ravel()[order], return_index=True)
    counts = numpy.diff(starts, append=index.size).max()

    def sums(array: NDArray) -> NDArray:
        """Return the sums of equal rows: sorted ones are ten times as fast as numpy.add.at."""
        rows = array.reshape(index.size, *shape[1:])[order]
        return numpy.add.reduceat(rows, starts, 0) if counts > 1 else rows

    value = sums(g.value)
    error, rest = None if g.error is None else numpy.sqrt(sums(g.error**2)), 0.0
    if counts > 1:
        local = numpy.float32(g.rounding.results * math.sqrt(counts)) * sums(magnitude(g.value))
        error, rest = quadrature(quadrature(error, local), stored(value, g.rounding)), g.rounding.tiny
    spread = None if error is None else placed(error, places, shape, rest)
    return Variable(placed(value, places, shape), g.rounding, spread)


def _function(a: Variable, value: NDArray, slope: NDArray, pullback: Pullback) -> Variable:
    return rounded(value, a, scaled(a.error, slope), ((a, pullback),), FUNCTION_ULPS)


def _detached(a: Variable) -> Variable:
    return Variable(a.value, a.rounding, a.error)


def _moved(a: Variable, move: Callable[[NDArray], NDArray], pullback: Pullback) -> Variable:
    """Return an array with the same numbers in other places, which is exact."""
    return Variable(move(a.value), a.rounding, None if a.error is None else move(a.error), ((a, pullback),))


def _broadcast(a: Variable, shape: Tuple[int, ...]) -> Variable:
    return _moved(a, lambda array: numpy.broadcast_to(array, shape), lambda g: _unbroadcast(g, a.shape))


def _unbroadcast(g: Variable, shape: Tuple[int, ...]) -> Variable:
    """Return the sum over the dimensions along which an operand of `shape` was broadcast."""
    if g.shape == shape:
        return g
    added = len(g.shape) - len(shape)
    axes = (*range(added), *(added + axis for axis, size in enumerate(shape) if size != g.shape[added + axis]))
    return reshape(total(g, axes), shape)


def _positive(axes: Tuple[int, ...], a: Variable) -> Tuple[int, ...]:
    return tuple(axis % len(a.shape) for axis in axes)


def _without(shape: Tuple[int, ...], axes: Tuple[int, ...]) -> Tuple[int, ...]:
    return tuple(size for axis, size in enumerate(shape) if axis not in {axis % len(shape) for axis in axes})
