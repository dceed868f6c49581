"""Count the FLOPs of a forward pass in PyTorch (1 MAC = 2 FLOPs).

FLOPs are those of matrix products, convolutions and attention that torch.utils.flop_counter counts. It counts none in
the RNNs of the CPU: for these, the formula of models/layers.py is used. Products with vectors have formulas here.
"""

import re
from contextlib import contextmanager
from math import prod
from typing import Any, Callable, Dict, Iterator, Sequence, Set, Tuple

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

_Shape = Sequence[int]
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _of_matrix(matrix: _Shape, *_: Any, **__: Any) -> int:
    """Return the FLOPs of the product of a matrix or a vector with a vector."""
    return 2 * prod(matrix)


def _addmv(bias: _Shape, matrix: _Shape, *_: Any, **__: Any) -> int:
    return 2 * prod(matrix)


def _addbmm(bias: _Shape, first: _Shape, second: _Shape, *_: Any, **__: Any) -> int:
    return 2 * prod(first) * second[-1]


def _bilinear(first: _Shape, weight: _Shape, second: _Shape, *_: Any, **__: Any) -> int:
    """Return the FLOPs of nn.Bilinear: (items, i) with (outputs, i, j), then with (items, j)."""
    return 2 * first[0] * (prod(weight) + weight[0] * weight[2])


MISSED: Dict[Any, Callable[..., int]] = {
    torch.ops.aten.mv: _of_matrix,
    torch.ops.aten.addmv: _addmv,
    torch.ops.aten.dot: _of_matrix,
    torch.ops.aten.vdot: _of_matrix,
    torch.ops.aten.addbmm: _addbmm,
    torch.ops.aten._trilinear: _bilinear,
}
_WITHOUT_FLOPS = ("prim", "prims", "profiler", "c10d", "_c10d_functional")  # libraries
# Operators of PyTorch that multiply, but have no formula.
_UNCOUNTED = re.compile(
    "_?(cdist|cholesky|conv_tbc|euclidean_dist|fft|grouped_mm|int_mm|linalg_(?!vector_norm|cross|check_errors)"
    "|mkldnn_rnn|scaled_grouped|sparse|weight_int)"
)


class _Operators(TorchDispatchMode):
    """The operators without a formula that run outside RNNs: those of other libraries, and some of PyTorch."""

    def __init__(self, count: "Count") -> None:
        super().__init__()
        self._count = count

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        title = str(function.name()).partition(".")[0]
        library, _, name = title.partition("::")
        multiplies = _UNCOUNTED.match(name) if library == "aten" else library not in _WITHOUT_FLOPS
        if multiplies and not self._count.in_rnn:
            self._count.found.add(name if library == "aten" else title)
        return function(*args, **(kwargs or {}))


class Count:
    """The FLOPs counted so far."""

    def __init__(self) -> None:
        self.counter = FlopCounterMode(display=False, custom_mapping=MISSED)
        self.found: Set[str] = set()
        self.missed = 0  # in RNNs, by the counter
        self._before: Dict[int, int] = {}

    @property
    def total(self) -> int:
        """Return the FLOPs of all operations."""
        return self.counter.get_total_flops() + self.missed

    @property
    def uncounted(self) -> Tuple[str, ...]:
        """Return the names of the operators whose FLOPs are not included."""
        return tuple(sorted(self.found))

    @property
    def in_rnn(self) -> bool:
        """Return whether an RNN runs, which has a formula of its own."""
        return bool(self._before)

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
        with _counted_attention(), _Operators(count), count.counter:
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
