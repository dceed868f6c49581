"""How large the reference of an operator is: its numbers and its memory, with the intermediate results."""

import math
from functools import singledispatch
from typing import Dict, Tuple

from . import products, recurrent, reductions
from .operator import FORWARD, Operator

# Bytes per number at the peak, in the forward pass and with gradients: measured, and rounded up. Values are in float64,
# and errors and their squares in float32; gelu and layer_norm need most.
_OF_ARRAYS = (65, 110)
_OF_INTERMEDIATES: Dict[type, Tuple[int, int]] = {
    products.Attention: (95, 215),
    products.Conv2d: (20, 48),
    reductions.Pooling: (12, 25),
}
_OF_GATES = (100, 230)  # of a recurrence, at all time steps


def reference_numbers(operator: Operator, ranks: int = 1) -> int:
    """Return how many numbers a reference has: the arrays of all ranks, the result, and intermediate results."""
    return _in_arrays(operator, ranks) + _intermediates(operator)


def reference_bytes(operator: Operator, phase: str, ranks: int = 1) -> int:
    """Return the peak memory of a reference, in bytes, estimated from above."""
    place = 0 if phase == FORWARD else 1
    found = _OF_ARRAYS[place] * _in_arrays(operator, ranks)
    found += _OF_INTERMEDIATES.get(type(operator), (0, 0))[place] * _intermediates(operator)
    return found + _OF_GATES[place] * _gates(operator)


def _in_arrays(operator: Operator, ranks: int) -> int:
    return ranks * sum(array.size for array in operator.arrays().values()) + operator.output().size


def _gates(operator: Operator) -> int:
    """Return the size of the gates of a recurrence at all time steps; 0 for other operators."""
    if isinstance(operator, recurrent.Lstm):
        return recurrent.LstmCell.gates * operator.output().size
    return operator.gates * operator.output().size if isinstance(operator, recurrent._Cell) else 0


@singledispatch
def _intermediates(operator: Operator) -> int:
    """Return the size of an intermediate result that is larger than the arrays, as for few operators."""
    return 0


@_intermediates.register
def _scores(operator: products.Attention) -> int:
    return operator.batch * operator.heads * operator.time**2


@_intermediates.register
def _patches(operator: products.Conv2d) -> int:
    images, _, height, width = operator.output().shape
    return operator.terms * images * height * width


@_intermediates.register
def _windows(operator: reductions.Pooling) -> int:
    if operator.mode == reductions.GLOBAL_AVERAGE:
        return 0
    return operator.kernel**2 * math.prod(operator.output().shape)
