"""The memory of a step, from the operators of its network.

Training keeps the weights, their gradients and the states of the optimizer [1], and the tensors that the forward pass
saves for the backward pass. Inference keeps the weights and the inputs and outputs of one operator at a time. The
limits of the range are those of a forward pass that saves nothing, and of one that saves all its outputs [2]. The
memory of the framework itself and the fragmentation of its allocator are not included.

[1] S. Rajbhandari et al., "ZeRO: memory optimizations toward training trillion parameter models", SC 2020, section 3.
[2] Y. Gao et al., "Estimating GPU memory consumption of deep learning models", ESEC/FSE 2020, section 3.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import pandas as pd

from hpcbench.core.profiling.operator_row import FORWARD
from hpcbench.models.optimizers import ADAM, ADAMW, LAMB, SGD
from hpcbench.predict.tables.element_bytes import element_bytes

WEIGHT_BYTES = element_bytes("float32")  # hpcbench keeps weights in float32 in all precisions
_STATES = {SGD: 0, ADAM: 2, ADAMW: 2, LAMB: 2}  # values for each weight; others keep one


class MemoryRange(NamedTuple):
    """A value in bytes, and its limits."""

    low: float
    value: float
    high: float


def memory_of(
    operators: pd.DataFrame,
    weights: int | None,
    training: bool,
    optimizer: str = "",
    saved_bytes: float = 0.0,
    weight_bytes: int = WEIGHT_BYTES,
) -> MemoryRange | None:
    """Return the memory of a step of a network with a number of weights, in bytes; None if it is unknown.

    `operators` has the columns `phase`, `is_view`, `output_bytes` and `calls` of the list of a step. `saved_bytes` are
    those that the forward pass of a training saves: see `networks.memory`. `weight_bytes` are those of one weight.
    """
    if operators.empty or weights is None:
        return None
    own = weight_bytes * weights
    forward = operators[(operators["phase"] == FORWARD) & ~operators["is_view"].astype("bool")]
    largest = float(forward["output_bytes"].max()) if len(forward) else 0.0
    if not training:
        low, high = own + largest, own + 3 * largest  # an operator rarely has over two inputs of this size
        return MemoryRange(low, math.sqrt(low * high), high) if low else None
    kept = own * (2 + _STATES.get(optimizer, 1))
    low, high = kept + largest, kept + float((forward["output_bytes"] * forward["calls"]).sum())
    return MemoryRange(low, min(max(kept + saved_bytes, low), high), high) if low else None
