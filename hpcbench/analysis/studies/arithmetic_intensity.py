"""Arithmetic intensity: operations of a step over the bytes that its layers must at least move to and from memory.

Williams, Waterman and Patterson (2009), "Roofline: an insightful visual performance model for multicore architectures",
Communications of the ACM 52(4), 65-76, call it operational intensity: after the caches, for DRAM. Here it is counted,
not measured. For a batch of B items, numbers of s bytes, and layers that in a forward pass move M numbers for each item
and read R of P weights (models/memory_traffic.py):

    inference   s (B M + R)
    training    s (3 B M + 2 R) + 4 (6 P)

- Every layer reads its input and its weights once and writes its output once. No layer finds in a cache what the one
  before has left, no layers are fused, and within a layer the caches are ideal.
- Training does three passes, as its operations are counted: forward, the gradient of the input, the gradient of the
  weights. Each moves as much as the forward pass, and the first two read the weights. Layers without weights need a
  little less (5 numbers of an elementwise one, where 6 are counted).
- The gradient of the weights is written, and the optimizer (SGD with momentum) reads gradient, momentum and weight and
  writes the last two: six numbers for each weight, in float32 whatever the dtype, since training in 16 bits is mixed.
- Operations are those of matrix products and convolutions alone.

What fuses layers (a compiler, attention that never writes its scores), or caches that hold a small network from layer
to layer, moves less: such a case can be faster than its roof. Communication and sharded optimizers are not counted.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from hpcbench.core.frameworks import TASKS
from hpcbench.models import blocks, catalog, memory_traffic
from hpcbench.util.fast_json import decoded

SIZES = {"float32": 4, "bfloat16": 2, "float16": 2}  # bytes of a number
_MASTER = SIZES["float32"]  # of the weights that are trained
_UPDATE = 6  # numbers moved for each


class StepWork(NamedTuple):
    """FLOPs, and the minimum of bytes moved, of one step."""

    flops: int
    moved_bytes: int

    @property
    def intensity(self) -> float:
        """Return FLOPs per byte."""
        return self.flops / self.moved_bytes


@lru_cache(maxsize=1024)
def step_work(model: str, model_options: str, task: str, batch_size: int, dtype: str) -> StepWork:
    """Return the work of a step of a model with these options (JSON, as in the table of cases).

    Raise ValueError if the model or the dtype is unknown.
    """
    if model not in catalog.MODELS or dtype not in SIZES:
        raise ValueError(f"there is no model {model} in {dtype}")
    given: dict[str, Any] = decoded(model_options)
    chain, shape = catalog.network(model, catalog.resolved_options(model, given))
    training = TASKS[task].trains
    moved = batch_size * memory_traffic.total_moved(chain, shape, training)
    read = memory_traffic.total_weights_read(chain, shape, batch_size)
    flops = batch_size * catalog.flops_of(chain, shape, training)
    if not training:
        return StepWork(flops, SIZES[dtype] * (moved + read))
    update = _MASTER * _UPDATE * blocks.parameter_count(chain, shape)
    return StepWork(flops, SIZES[dtype] * (3 * moved + 2 * read) + update)
