"""Products of matrices, and the sums of those that the gradient of a recurrence has for each time step."""

import math
from functools import reduce
from typing import Sequence

import numpy

from .errors import magnitude, quadrature, rounded
from .functions import add, swap
from .variable import NDArray, Parents, Product, Share, Variable

_IN_CACHE = 2**15  # numbers of an array in float64, of which a few fit into a cache of the second level
_MATRIX = 2  # dimensions


def matmul(a: Variable, b: Variable, parts: int = 1, parts_of_gradient: int = 1) -> Variable:
    """Return the product of the last two dimensions; both arrays have the same leading ones.

    Sums may be stored after each of `parts`, for example of each image, and so may those of the gradient of `a`.
    """
    value, terms = a.value @ b.value, a.shape[-1]
    left, right = a.squares, b.squares
    # One product reads the other array once.
    products = (left if a.error is None else numpy.concatenate([left, a.error**2], -2)) @ right
    spread = numpy.sqrt(products[..., : a.shape[-2], :] + magnitude(value) ** 2)
    local = numpy.float32(a.rounding.products * math.sqrt(terms)) * spread
    between = _stored_between(a, b, parts) if parts > 1 and a.rounding.results > a.rounding.products else None
    squares = [products[..., a.shape[-2] :, :] for _ in (a.error,) if a.error is not None]
    squares += [left @ error**2 for error in (b.error,) if error is not None]
    propagated = numpy.sqrt(sum(squares)) if squares else None
    parents: Parents = ((a, lambda g: matmul(g, swap(b), parts_of_gradient)), (b, lambda g: Product(swap(a), g)))
    return rounded(value, a, quadrature(quadrature(propagated, local), between), parents)


def sum_of_shares(shares: Sequence[Share]) -> Variable:
    """Return the sum of the shares of a gradient, which are added up one after the other."""
    products = [share for share in shares if isinstance(share, Product)]
    if len(products) > 1 and len(products) == len(shares) and len(products[0].left.shape) == _MATRIX:
        return _sum_of_products(products)
    return reduce(add, [matmul(*share) if isinstance(share, Product) else share for share in shares])


def _sum_of_products(products: Sequence[Product]) -> Variable:
    """Return the sum of products of matrices: each is stored, and so is each sum of the first ones.

    The bound is that of `matmul` and `add`. It is computed for some rows at a time, whose numbers stay in the cache.
    """
    (rows, _), (_, columns) = products[0].left.shape, products[0].right.shape
    rounding, at_a_time = products[0].left.rounding, max(1, _IN_CACHE // columns)
    value, error = numpy.empty((rows, columns)), numpy.empty((rows, columns), numpy.float32)
    for first in range(0, rows, at_a_time):
        part = slice(first, first + at_a_time)
        sums = numpy.zeros((min(at_a_time, rows - first), columns))
        of_products, of_results = numpy.zeros((2, *sums.shape), numpy.float32)
        propagated = numpy.zeros(sums.shape, numpy.float32)
        for a, b in products:
            product, left = a.value[part] @ b.value, a.squares[part]
            is_rounded = (product != 0) & (sums != 0)  # a sum with 0 is exact
            sums += product
            square = product.astype(numpy.float32) ** 2
            of_products += numpy.float32(a.shape[1]) * (left @ b.squares + square)
            of_results += square + is_rounded * sums.astype(numpy.float32) ** 2
            propagated += 0 if a.error is None else a.error[part] ** 2 @ b.squares
            propagated += 0 if b.error is None else left @ b.error**2
        value[part] = sums
        own = numpy.float32(rounding.products) * numpy.sqrt(of_products)
        own = numpy.hypot(own, numpy.float32(rounding.results) * numpy.sqrt(of_results))
        error[part] = numpy.hypot(own, numpy.sqrt(propagated)) + numpy.float32(rounding.tiny)
    return Variable(value, rounding, error)


def _stored_between(a: Variable, b: Variable, parts: int) -> NDArray:
    """Return the error of sums that are stored after each part of their terms."""
    partial, squares = 0.0, 0.0
    for left, right in zip(numpy.split(a.value, parts, -1), numpy.split(b.value, parts, -2)):
        partial = partial + left @ right
        squares = squares + partial**2
    return magnitude(a.rounding.results * numpy.sqrt(squares))
