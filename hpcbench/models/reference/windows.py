"""The windows of images, for convolutions and pooling."""

import math
from typing import Tuple

import numpy

from .errors import magnitude, quadrature, rounded
from .variable import NDArray, Variable


def windows(
    a: Variable, kernel: Tuple[int, int], stride: Tuple[int, int], pad: Tuple[int, int], fill: float = 0.0
) -> Variable:
    """Return the windows of images (n, c, h, w) as (n, c, kernel_h, kernel_w, height, width), padded with `fill`."""
    border = ((0, 0), (0, 0), (pad[0], pad[0]), (pad[1], pad[1]))

    def cut(array: NDArray, padding: float) -> NDArray:
        padded = numpy.pad(array, border, constant_values=padding)
        return _strided(padded, kernel, stride)

    def pullback(g: Variable) -> Variable:
        return _folded(g, a.shape, stride, pad)

    error = None if a.error is None else cut(a.error, 0.0)
    return Variable(cut(a.value, fill), a.rounding, error, ((a, pullback),))


def _strided(padded: NDArray, kernel: Tuple[int, int], stride: Tuple[int, int]) -> NDArray:
    sizes = [(padded.shape[2 + side] - kernel[side]) // stride[side] + 1 for side in (0, 1)]
    n, c, h, w = padded.strides
    strides = (n, c, h, w, h * stride[0], w * stride[1])
    view = numpy.lib.stride_tricks.as_strided(padded, (*padded.shape[:2], *kernel, *sizes), strides, writeable=False)
    return numpy.ascontiguousarray(view)


def _folded(g: Variable, shape: Tuple[int, ...], stride: Tuple[int, int], pad: Tuple[int, int]) -> Variable:
    """Return the sums of windows (n, c, kernel_h, kernel_w, height, width) at their places in images of `shape`.

    They may add up in 16 bits, also those of a convolution: PyTorch does so on CPUs without arithmetic in 16 bits.
    """
    kernel = g.shape[2:4]

    def fold(array: NDArray) -> NDArray:
        padded = numpy.zeros((*shape[:2], shape[2] + 2 * pad[0], shape[3] + 2 * pad[1]), array.dtype)
        for row in range(kernel[0]):
            for column in range(kernel[1]):
                rows = slice(row, row + stride[0] * array.shape[4], stride[0])
                columns = slice(column, column + stride[1] * array.shape[5], stride[1])
                padded[:, :, rows, columns] += array[:, :, row, column]
        return padded[:, :, pad[0] : pad[0] + shape[2], pad[1] : pad[1] + shape[3]]

    most = math.prod(kernel)
    local = numpy.float32(g.rounding.results * math.sqrt(most)) * fold(magnitude(g.value)) if most > 1 else None
    error = None if g.error is None else numpy.sqrt(fold(g.error**2))
    return rounded(fold(g.value), g, quadrature(error, local), (), 1.0 if most > 1 else 0.0)
