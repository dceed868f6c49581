"""Count the FLOPs of a forward pass in PyTorch (1 MAC = 2 FLOPs).

FLOPs are those of matrix products, convolutions and attention that torch.utils.flop_counter counts. It counts none in
the RNNs of the CPU: for these, the formula of models/layers.py is used.
"""

from contextlib import contextmanager
from typing import Any, Dict, Iterator, Tuple

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class Count:
    """The FLOPs counted so far."""

    def __init__(self) -> None:
        self.counter = FlopCounterMode(display=False)
        self.missed = 0  # in RNNs, by the counter
        self._before: Dict[int, int] = {}

    @property
    def total(self) -> int:
        """Return the FLOPs of all operations."""
        return self.counter.get_total_flops() + self.missed

    def start(self, module: nn.Module, inputs: Any) -> None:
        """Note the FLOPs before an RNN."""
        self._before[id(module)] = self.counter.get_total_flops()

    def end(self, module: Any, inputs: Tuple[Any, ...], named: Dict[str, Any], outputs: Any) -> None:
        """Add the FLOPs of an RNN that the counter missed."""
        counted = self.counter.get_total_flops() - self._before.pop(id(module))
        first = inputs[0] if inputs else named["input"]
        if isinstance(first, nn.utils.rnn.PackedSequence):
            total = rnn_flops(module, 1, len(first.data))
        elif first.dim() == 2:
            total = rnn_flops(module, 1, first.shape[0])
        else:
            total = rnn_flops(module, first.shape[0], first.shape[1])
        self.missed += total - counted


@contextmanager
def counting(module: nn.Module) -> Iterator[Count]:
    """Count the FLOPs of the forward passes of `module` within the context."""
    count, handles = Count(), []
    for each in module.modules():
        if isinstance(each, nn.RNNBase):
            handles.append(each.register_forward_pre_hook(count.start))
            handles.append(each.register_forward_hook(count.end, with_kwargs=True))
    try:
        with _counted_attention(), count.counter:
            yield count
    finally:
        for handle in handles:
            handle.remove()


def rnn_flops(module: nn.RNNBase, items: int, steps: int) -> int:
    """Return the FLOPs of a forward pass of torch's LSTM, GRU or RNN (1 MAC = 2 FLOPs)."""
    directions = 2 if module.bidirectional else 1
    width = module.proj_size or module.hidden_size
    products = 0
    for layer in range(module.num_layers):
        inputs = module.input_size if layer == 0 else width * directions
        products += _GATES[module.mode] * module.hidden_size * (inputs + width) + module.hidden_size * module.proj_size
    return 2 * items * steps * directions * products


@contextmanager
def _counted_attention() -> Iterator[None]:
    """Compute attention by matrix products, because the fused kernels of CPUs are not counted."""
    fastpath = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fastpath)
