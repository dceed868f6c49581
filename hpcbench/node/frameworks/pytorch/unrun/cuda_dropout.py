"""Dropout as GPUs compute it, on tensors of the CPU, which computes it in several operators.

In training, a GPU has one kernel for a dropout, and attention drops out within its fused kernel. The CPU draws, scales
and multiplies, and takes attention with dropout apart into products and a softmax. Source: PyTorch,
aten/src/ATen/native/Dropout.cpp and transformers/attention.cpp.
"""

from contextlib import contextmanager
from typing import Any, Iterator

import torch
from torch import library

from ..profiler.listing import COMPOSITE

_ON_CPU = "AutogradCPU"


@contextmanager
def cuda_dropout() -> Iterator[None]:
    """Let dropout and attention of tensors on the CPU call the operators that they call on a GPU."""
    kernels = library.Library("aten", "IMPL")
    kernels.impl("dropout", _dropout, _ON_CPU)
    kernels.impl("scaled_dot_product_attention", _attention, _ON_CPU)
    try:
        yield
    finally:
        del kernels  # PyTorch removes its functions with it


def _dropout(values: torch.Tensor, rate: float, train: bool) -> Any:
    if train and 0 < rate < 1:
        return torch.native_dropout(values, rate, True)[0]
    return torch.ops.aten.dropout.default._op_dk(COMPOSITE, values, rate, train)


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    **others: Any,
) -> Any:
    """Compute attention without its dropout, which costs a fused kernel little."""
    attention = torch.ops.aten.scaled_dot_product_attention.default
    return attention._op_dk(COMPOSITE, query, key, value, attn_mask, 0.0, is_causal, **others)
