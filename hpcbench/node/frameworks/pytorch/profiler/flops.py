"""The FLOPs of one call of an operator (1 MAC = 2 FLOPs): the formulas of PyTorch, and those that it lacks."""

from math import prod
from typing import Any, Callable, Dict, Optional, Sequence

import torch
from torch.utils.flop_counter import FlopCounterMode

from ..external.flops import MISSED

_Shape = Sequence[int]
_PROJECTIONS = 4  # of query, key, value and result, each by a matrix of width x width


def _rnn(inputs: _Shape, first: _Shape, second: _Shape, *_: Any, **__: Any) -> int:
    """Return the FLOPs of one layer of oneDNN: inputs (time, batch, width) with both matrices of weights."""
    return 2 * prod(inputs[:2]) * (prod(first) + prod(second))


def _rnn_backward(*shapes: Any, **__: Any) -> int:
    return 2 * _rnn(*shapes)


def _attention(query: _Shape, key: _Shape, value: _Shape, *_: Any, **__: Any) -> int:
    """Return the FLOPs of query (batch, heads, time, width) with all keys, and of the weights with all values."""
    return 2 * prod(query[:3]) * key[-2] * (query[-1] + value[-1])


def _attention_backward(gradient: _Shape, query: _Shape, key: _Shape, value: _Shape, *_: Any, **__: Any) -> int:
    """Return the FLOPs of the scores, which are computed again, and of four gradients."""
    return 2 * prod(query[:3]) * key[-2] * (3 * query[-1] + 2 * value[-1])


def _own_attention(query: _Shape, key: _Shape, value: _Shape, width: int, *_: Any, **__: Any) -> int:
    """Return the FLOPs of PyTorch's fused self-attention with its projections, for (batch, time, width)."""
    batch, time = query[0], query[1]
    return 2 * batch * time * _PROJECTIONS * width * width + 4 * batch * time * time * width


def _encoder_layer(inputs: _Shape, width: int, heads: int, *rest: Any, **__: Any) -> int:
    """Return the FLOPs of a Transformer's encoder layer; the shape of its first feed-forward matrix is argument 15."""
    wide = rest[_FIRST_FEED_FORWARD - 3]
    return _own_attention(inputs, inputs, inputs, width) + 4 * prod(inputs[:2]) * prod(wide)


_FIRST_FEED_FORWARD = 14
_OWN: Dict[str, Callable[..., int]] = {
    "mkldnn_rnn_layer": _rnn,
    "mkldnn_rnn_layer_backward": _rnn_backward,
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
    "_scaled_dot_product_flash_attention_for_cpu_backward": _attention_backward,
    "_native_multi_head_attention": _own_attention,
    "_transformer_encoder_layer_fwd": _encoder_layer,
}


class Flops:
    """The formulas of this version of PyTorch."""

    def __init__(self) -> None:
        own = {
            getattr(torch.ops.aten, name): formula for name, formula in _OWN.items() if hasattr(torch.ops.aten, name)
        }
        mapping = {**MISSED, **own}
        self._formulas = FlopCounterMode(display=False, custom_mapping=mapping).flop_registry

    def of_call(self, function: Any, args: Any, kwargs: Any, output: Any) -> Optional[int]:
        """Return the FLOPs of a call; None if no formula is known."""
        formula = self._formulas.get(function._overloadpacket)
        return None if formula is None else int(formula(*args, **kwargs, out_val=output))
