"""A map of an array that is small enough for a record: the largest value of each block."""

import numpy

from ....core.validation.result import HeatMap
from .array_errors import finite

CELLS = 32  # at most, in each direction
_DIGITS = 4


def heat_map(name: str, values: "numpy.ndarray") -> HeatMap:
    """Return a map of non-negative values: the last dimension from left to right, all others from top to bottom.

    The cell of a block with a number that is not finite is None.
    """
    matrix = values.reshape(-1, values.shape[-1] if values.ndim else 1)
    rows, columns = (numpy.linspace(0, size, min(size, CELLS) + 1).astype(int) for size in matrix.shape)
    blocks = numpy.maximum.reduceat(numpy.maximum.reduceat(matrix, rows[:-1], 0), columns[:-1], 1)
    cells = [[finite(float("%.*g" % (_DIGITS, value))) for value in row] for row in blocks]
    return HeatMap(name, list(matrix.shape), cells)
