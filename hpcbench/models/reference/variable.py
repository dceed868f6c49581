"""Arrays in float64 that carry a bound of the rounding error of the same computation in lower precision.

The bound of a sum s of k products p is u sqrt(k (sum p^2 + s^2)), with the unit roundoff u: each rounding is at most
u times a partial sum, roundings are independent, and partial sums are those of a random walk to s. The probabilistic
bound u sqrt(k) sum |p| (Higham and Mary, 2019, "A new approach to probabilistic rounding error analysis") has no
signs, and is sqrt(k) larger: with 10,000 terms it would hide operands that are rounded to TF32. Errors of the operands
propagate to first order, and add up in quadrature, as independent errors do: worst-case bounds would grow exponentially
over the time steps of a recurrence.
"""

from typing import Any, Callable, Dict, NamedTuple, Optional, Sequence, Tuple, Union

import numpy

NDArray = numpy.ndarray
Errors = Optional[NDArray]  # float32; None: exact


class Rounding(NamedTuple):
    """The errors of an arithmetic: unit roundoffs of products of matrices and of stored results.

    `tiny` is the largest error of a result near 0, where numbers lose digits or become 0.
    """

    products: float
    results: float
    tiny: float


# Products of matrices in 16 bits add up in float32, as matrix units do; other sums may add up in 16 bits.
ROUNDINGS: Dict[str, Rounding] = {
    "float64": Rounding(2.0**-53, 2.0**-53, 0.0),
    "float32": Rounding(2.0**-24, 2.0**-24, 2.0**-126),
    "bfloat16": Rounding(2.0**-24, 2.0**-8, 2.0**-126),
    "float16": Rounding(2.0**-24, 2.0**-11, 2.0**-24),
}


class Variable:
    """An array with the bound of its error, and how it depends on the arrays that it was computed from.

    `parents` are these arrays, each with the function that maps the cotangent of the result to that of the parent.
    """

    def __init__(
        self,
        value: NDArray,
        rounding: Rounding,
        error: Errors = None,
        parents: "Parents" = (),
    ) -> None:
        self.value = value
        self.rounding = rounding
        self.error = error
        self.parents = parents
        self._squares: Errors = None

    @property
    def shape(self) -> Tuple[int, ...]:
        """Return the shape of the array."""
        return self.value.shape

    @property
    def squares(self) -> NDArray:
        """Return the squares of the numbers in float32, which are computed once: recurrences use a kernel often."""
        if self._squares is None:
            self._squares = numpy.abs(self.value, dtype=numpy.float32, casting="same_kind") ** 2
        return self._squares

    @squares.setter
    def squares(self, known: NDArray) -> None:
        self._squares = known


class Product(NamedTuple):
    """A product of matrices in a gradient, computed with the others of its sum: a recurrence has one per time step."""

    left: Variable
    right: Variable


class Slice(NamedTuple):
    """A gradient of a slice of an array, which is 0 elsewhere: a recurrence has one per time step."""

    part: Variable
    index: Any  # slices or integers, one per dimension
    shape: Tuple[int, ...]  # of the array

    def whole(self) -> Variable:
        """Return the gradient of the array."""
        value, error = self.part.value, self.part.error
        errors = None if error is None else placed(error, self.index, self.shape)
        return Variable(placed(value, self.index, self.shape), self.part.rounding, errors)


Share = Union[Variable, Product, Slice]  # of a gradient
Pullback = Callable[[Variable], Share]
Parents = Sequence[Tuple[Variable, Pullback]]


def placed(array: NDArray, index: Any, shape: Tuple[int, ...], rest: float = 0.0) -> NDArray:
    """Return an array of `shape` with elements at `index`; the others are `rest`."""
    result: NDArray = numpy.full(shape, rest, array.dtype) if rest else numpy.zeros(shape, array.dtype)
    result[index] = array
    return result
