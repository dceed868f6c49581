"""Products of matrices, and the sums of those that the gradient of a recurrence has for each time step."""

import math
from functools import reduce
from typing import NamedTuple, Sequence

import numpy

from .errors import IN_CACHE, blocks, magnitude, stored
from .functions import add, swap
from .variable import Errors, NDArray, Parents, Product, Share, Slice, Variable

_MATRIX = 2  # dimensions
_FEW_TERMS = 4  # of a product


def matmul(a: Variable, b: Variable, parts: int = 1, parts_of_gradient: int = 1) -> Variable:
    """Return the product of the last two dimensions; both arrays have the same leading ones.

    Sums may be stored after each of `parts`, for example of each image, and so may those of the gradient of `a`.
    """
    value = a.value @ b.value
    left, right = a.squares, b.squares
    # One product reads the other array once.
    products = (left if a.error is None else numpy.concatenate([left, a.error**2], -2)) @ right
    squares = [products[..., a.shape[-2] :, :] for _ in (a.error,) if a.error is not None]
    squares += [left @ error**2 for error in (b.error,) if error is not None]
    between = _stored_between(a, b, parts) if parts > 1 and a.rounding.results > a.rounding.products else None
    error = _bound(value, products[..., : a.shape[-2], :], squares, between, a)
    parents: Parents = ((a, lambda g: matmul(g, swap(b), parts_of_gradient)), (b, lambda g: Product(swap(a), g)))
    return Variable(value, a.rounding, error, parents)


def _bound(value: NDArray, own: NDArray, propagated: Sequence[NDArray], between: Errors, a: Variable) -> NDArray:
    """Return the bound of a product of matrices: of its own sums, of its operands, and of its storage.

    `own` are the sums of the squares of products, and `propagated` the squares of the errors due to those of operands.
    It is computed for some rows at a time, whose numbers stay in the cache.
    """
    unit = numpy.float32(a.rounding.products * math.sqrt(a.shape[-1]))
    error = numpy.empty(value.shape, numpy.float32)
    for part in blocks(value.shape):
        spread = magnitude(value[part])
        spread *= spread
        spread += own[part]
        numpy.sqrt(spread, out=spread)
        spread *= unit
        if propagated:
            spread = numpy.hypot(spread, numpy.sqrt(sum(squares[part] for squares in propagated)))
        if between is not None:
            spread = numpy.hypot(spread, between[part])
        numpy.hypot(spread, stored(value[part], a.rounding), out=error[part])
    return error


def sum_of_shares(shares: Sequence[Share]) -> Variable:
    """Return the sum of the shares of a gradient, which are added up one after the other."""
    products = [share for share in shares if isinstance(share, Product)]
    if len(products) > 1 and len(products) == len(shares) and len(products[0].left.shape) == _MATRIX:
        return _sum_of_products(products)
    slices = [share for share in shares if isinstance(share, Slice)]
    if len(slices) == len(shares) and not _overlap(slices):
        return _joined(slices)
    return reduce(add, map(_variable, shares))


def _variable(share: Share) -> Variable:
    if isinstance(share, Product):
        return matmul(*share)
    return share.whole() if isinstance(share, Slice) else share


def _overlap(slices: Sequence[Slice]) -> bool:
    """Return whether two slices have an element in common."""
    known = numpy.zeros(slices[0].shape, bool)
    for each in slices:
        if known[each.index].any():
            return True
        known[each.index] = True
    return False


def _joined(slices: Sequence[Slice]) -> Variable:
    """Return the sum of slices that do not overlap, which is exact, in the memory of one array."""
    joined = slices[0].whole()
    is_exact = all(each.part.error is None for each in slices)
    error = None if is_exact else numpy.zeros(joined.shape, numpy.float32)
    for each in slices:
        joined.value[each.index] = each.part.value
        if error is not None and each.part.error is not None:
            error[each.index] = each.part.error
    return Variable(joined.value, joined.rounding, error)


def _sum_of_products(products: Sequence[Product]) -> Variable:
    """Return the sum of products of matrices: each is stored, and so is each sum of the first ones.

    The bound is that of `matmul` and `add`. It is computed for some rows at a time, whose numbers stay in the cache.
    """
    rounding, rows, columns = products[0].left.rounding, products[0].left.shape[0], products[0].right.shape[1]
    unit, at_a_time = numpy.float32(rounding.products), max(1, IN_CACHE // columns)
    value = numpy.hstack([a.value for a, _ in products]) @ numpy.vstack([b.value for _, b in products])
    # One product has the squares of all products, and those of the errors of the operands, in units roundoff.
    left = numpy.hstack(
        [a.shape[1] * a.squares + _in_units(a, unit) for a, _ in products] + [a.squares for a, _ in products]
    )
    right = numpy.vstack([b.squares for _, b in products] + [_in_units(b, unit) for _, b in products])
    error = numpy.empty((rows, columns), numpy.float32)
    factors = [_Factors(*(each.value.astype(numpy.float32) for each in product)) for product in products]
    dense = [bool(each.left.all() and each.right.all()) for each in factors]
    ratio = numpy.float32(rounding.results / rounding.products)
    for first in range(0, rows, at_a_time):
        part = slice(first, first + at_a_time)
        squares = left[part] @ right
        squares += _squares_of_stored(factors, dense, part, ratio)
        error[part] = unit * numpy.sqrt(squares) + numpy.float32(rounding.tiny)
    return Variable(value, rounding, error)


def _in_units(a: Variable, unit: numpy.float32) -> NDArray:
    """Return the squares of the errors in units roundoff."""
    return numpy.zeros(a.shape, numpy.float32) if a.error is None else (a.error / unit) ** 2


class _Factors(NamedTuple):
    """The factors of a product of matrices in float32."""

    left: NDArray
    right: NDArray

    def product(self, part: slice) -> NDArray:
        """Return some rows of the product."""
        left, right = self.left[part], self.right
        if left.shape[1] > _FEW_TERMS:
            product: NDArray = left @ right
            return product
        # BLAS takes ten times as long for a few terms.
        result: NDArray = left[:, :1] * right[:1]
        for term in range(1, left.shape[1]):
            result += left[:, term : term + 1] * right[term]
        return result


def _squares_of_stored(
    factors: Sequence[_Factors], dense: Sequence[bool], part: slice, ratio: numpy.float32
) -> NDArray:
    """Return for some rows the sums of the squares of products, for each term of them, and of what is stored.

    These are the products and their sums. `dense` is whether a product has no zeros among its factors, and `ratio` the
    unit roundoff of stored results over that of products.
    """
    shape = (factors[0].left[part].shape[0], factors[0].right.shape[1])
    sums, of_products, of_sums = numpy.zeros((3, *shape), numpy.float32)
    has_zeros = True  # in the sums
    for each, is_dense in zip(factors, dense):
        product = each.product(part)
        exact = None if is_dense and not has_zeros else (product == 0) | (sums == 0)  # a sum with 0 is exact
        sums += product
        product *= product
        product *= numpy.float32(each.left.shape[1]) + ratio**2
        of_products += product
        square = numpy.multiply(sums, sums, out=product)
        if exact is not None:
            square[exact] = 0
        of_sums += square
        has_zeros = has_zeros and not is_dense
    of_sums *= ratio**2
    of_products += of_sums
    return of_products


def _stored_between(a: Variable, b: Variable, parts: int) -> NDArray:
    """Return the error of sums that are stored after each part of their terms."""
    partial, squares = 0.0, 0.0
    for left, right in zip(numpy.split(a.value, parts, -1), numpy.split(b.value, parts, -2)):
        partial = partial + left @ right
        squares = squares + partial**2
    return magnitude(a.rounding.results * numpy.sqrt(squares))
