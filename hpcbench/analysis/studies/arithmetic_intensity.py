"""Arithmetic intensity: FLOPs of a step over the minimum of bytes that its layers move to and from memory.

Williams, Waterman and Patterson (2009), "Roofline: an insightful visual performance model for multicore architectures",
Communications of the ACM 52(4), 65-76, call it operational intensity, for the DRAM traffic that remains after the
caches. Here it is computed from the model, not measured. For a batch of B samples, numbers of s bytes, and layers that
in a forward pass move M numbers per sample and read R of P weights (models/memory_traffic.py), the bytes of a step are:

    inference   s (B M + R)
    training    s (3 B M + 2 R) + 4 (4 + 2 K) P, with an optimizer that keeps K state tensors for each weight tensor

- Every layer reads its input and its weights once and writes its output once. Caches are ideal within a layer and not
  used between layers; layers are not fused.
- Training is three passes, as in its FLOPs: forward, gradient of the input, gradient of the weights. Each moves as much
  as the forward pass, and the first two read the weights. This slightly overestimates layers without weights (6 numbers
  instead of 5 for an elementwise layer).
- The gradient of the weights is written, and the optimizer reads it, and reads and writes weight and state: with the
  momentum of SGD (K = 1), six numbers per weight, in float32, since 16-bit training is mixed-precision.
- With gradients accumulated over n batches, the first term counts n times, and each further batch reads and writes the
  gradient of each weight.
- FLOPs are counted for matrix products and convolutions only.

Fused layers (a compiler, attention that does not store its scores) and caches that hold a small network across layers
reduce the traffic: such a case can exceed its roofline. Communication and sharded optimizers are not counted.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from hpcbench.core.frameworks import DTYPE_BYTES, TASKS
from hpcbench.models import blocks, catalog, memory_traffic, optimizers
from hpcbench.util.fast_json import decoded

_MASTER = DTYPE_BYTES["float32"]  # bytes per trained weight (master weights)
_GRADIENT, _WEIGHT = 2, 2  # numbers moved per trained weight: each is read once and written once


class StepWork(NamedTuple):
    """FLOPs and minimum of bytes moved of one step."""

    flops: int
    moved_bytes: int

    @property
    def intensity(self) -> float:
        """Return the arithmetic intensity in FLOPs per byte."""
        return self.flops / self.moved_bytes


@lru_cache(maxsize=1024)
def step_work(
    model: str,
    model_options: str,
    task: str,
    batch_size: int,
    dtype: str,
    optimizer: str = optimizers.DEFAULT,
    batches: int = 1,
) -> StepWork:
    """Return the work of a step of a model with these options (JSON, as in the table of cases), on `batches` batches.

    Raise ValueError if the model or the dtype is unknown.
    """
    if model not in catalog.MODELS or dtype not in DTYPE_BYTES:
        raise ValueError(f"model {model} does not support {dtype}")
    given: dict[str, Any] = decoded(model_options)
    chain, shape = catalog.network(model, catalog.resolved_options(model, given))
    training = TASKS[task].trains
    moved = batch_size * memory_traffic.total_moved(chain, shape, training)
    read = memory_traffic.total_weights_read(chain, shape, batch_size)
    flops = batch_size * catalog.flops_of(chain, shape, training)
    if not training:
        return StepWork(flops, DTYPE_BYTES[dtype] * (moved + read))
    state = optimizers.STATE_TENSORS[optimizers.name_in(optimizer)]
    numbers = batches * _GRADIENT + _WEIGHT * (1 + state)
    update = _MASTER * numbers * blocks.parameter_count(chain, shape)
    return StepWork(batches * flops, batches * DTYPE_BYTES[dtype] * (3 * moved + 2 * read) + update)
