"""Record the operators of a forward pass on meta tensors: their kind, the shape of the product, and elements moved.

Meta tensors have shapes but no data, so that a network needs neither its weights nor the time of its step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

PRODUCTS = ("conv1x1", "conv", "grouped", "depthwise", "linear", "bmm", "attention")
_KINDS = {
    "native_batch_norm": "batch_norm",
    "_native_batch_norm_legit_no_training": "batch_norm",
    "_native_batch_norm_legit": "batch_norm",
    "native_layer_norm": "layer_norm",
    "native_group_norm": "layer_norm",
    "_fused_rms_norm": "layer_norm",
    "_softmax": "softmax",
    "_log_softmax": "softmax",
}
_POOL = ("pool", "upsample", "im2col", "col2im", "grid_sampler", "fft", "unfold")
_REDUCE = (
    "mean",
    "sum",
    "amax",
    "amin",
    "max",
    "min",
    "var",
    "var_mean",
    "argmax",
    "linalg_vector_norm",
    "norm",
    "std",
    "topk",
)
_COPY = (
    *("clone", "cat", "copy", "copy_", "_to_copy", "roll", "constant_pad_nd", "index", "index_select", "stack", "flip"),
    *("repeat", "gather", "embedding", "reflection_pad2d", "index_put", "index_put_", "contiguous", "pixel_shuffle"),
    *("pixel_unshuffle", "arange", "zeros", "ones", "full", "empty", "zeros_like", "ones_like", "full_like", "scatter"),
    *("new_zeros", "new_full", "new_ones", "native_channel_shuffle", "masked_fill", "where", "split_with_sizes_copy"),
)
_NOT_LAUNCHED = (
    "empty",
    "empty_like",
    "new_empty",
    "empty_strided",
    "_unsafe_view",
    "detach",
    "lift_fresh",
    "_reshape_alias",
)
_IN_PLACE = ("relu_", "silu_", "gelu_", "hardswish_", "hardtanh_", "hardsigmoid_", "sigmoid_", "add_", "mul_")
_POINTWISE = (
    "relu",
    "silu",
    "gelu",
    "hardswish",
    "hardtanh",
    "hardsigmoid",
    "sigmoid",
    "tanh",
    "add",
    "mul",
    "sub",
    "div",
)


@dataclass(frozen=True)
class Call:
    """One operator of a forward pass.

    A product has `groups` products of (`rows` x `depth`) and (`depth` x `columns`); others have zeros. `read` and
    `written` count elements of activations.
    """

    kind: str
    rows: int
    columns: int
    depth: int
    groups: int
    read: int
    written: int


class Recorder(TorchDispatchMode):
    """A mode that records the operators of aten that launch something."""

    def __init__(self, weights: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self._weights = {weight.untyped_storage()._cdata for weight in weights}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = func._schema.name.split("::")[-1]
        result = _shape_alone(name, args) if not kwargs else None
        if result is None:
            result = func(*args, **(kwargs or {}))
        if not func.is_view and name not in _NOT_LAUNCHED:
            self.calls.append(self._call(name, args, kwargs or {}, result))
        return result

    def _call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Call:
        inputs = list(_tensors([*args, *kwargs.values()]))
        read = sum(_elements(part) for part in inputs if part.untyped_storage()._cdata not in self._weights)
        written = sum(_elements(part) for part in _tensors([result]))
        kind, *shape = _product(name, args, result) or (_kind(name), 0, 0, 0, 0)
        return Call(kind, *shape, read, written)


@contextmanager
def attention_recorded(recorder: Recorder) -> Iterator[None]:
    """Record each scaled dot-product attention as one operator, which it is in the kernels of GPUs."""
    functional = torch.nn.functional
    original = functional.scaled_dot_product_attention

    def recorded(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *rest: Any, **named: Any) -> torch.Tensor:
        batch = math.prod(query.shape[:-2])
        read = query.numel() + key.numel() + value.numel()
        written = query.numel() // query.shape[-1] * value.shape[-1]
        recorder.calls.append(Call("attention", query.shape[-2], key.shape[-2], query.shape[-1], batch, read, written))
        return torch.empty(*query.shape[:-1], value.shape[-1], dtype=query.dtype, device=query.device)

    functional.scaled_dot_product_attention = recorded
    try:
        yield
    finally:
        functional.scaled_dot_product_attention = original


@contextmanager
def lstm_recorded(recorder: Recorder) -> Iterator[None]:
    """Record each LSTM as libraries compute it: a product of all inputs, and one of the state in each step.

    The pointwise operators of a step are fused with its product (J. Appleyard et al., "Optimizing performance of
    recurrent neural networks on GPUs", 2016). The decomposition of PyTorch has an operator for each of them.
    """
    original = torch.nn.LSTM.forward

    def recorded(self: Any, sequence: torch.Tensor, state: Any = None) -> tuple[torch.Tensor, Any]:
        shape = sequence.shape if self.batch_first else (sequence.shape[1], sequence.shape[0], sequence.shape[2])
        batch, steps = shape[0], shape[1]
        directions, gates = 1 + int(self.bidirectional), 4 * self.hidden_size
        for layer in range(self.num_layers):
            inputs = self.input_size if layer == 0 else directions * self.hidden_size
            rows = batch * steps
            product = Call("linear", rows, gates, inputs, 1, rows * inputs, rows * gates)
            read, written = batch * (gates + 2 * self.hidden_size), 2 * batch * self.hidden_size
            step = Call("linear", batch, gates, self.hidden_size, 1, read, written)
            recorder.calls += directions * [product, *steps * [step]]
        output = sequence.new_empty(*sequence.shape[:2], directions * self.hidden_size)
        final = sequence.new_empty(directions * self.num_layers, batch, self.hidden_size)
        return output, (final, final)

    torch.nn.LSTM.forward = recorded  # type: ignore[method-assign]
    try:
        yield
    finally:
        torch.nn.LSTM.forward = original  # type: ignore[method-assign]


def calls_of(model: torch.nn.Module, image: torch.Tensor) -> list[Call]:
    """Return the operators of one forward pass in evaluation mode, in their order."""
    recorder = Recorder([*model.parameters(), *model.buffers()])
    with torch.no_grad(), attention_recorded(recorder), lstm_recorded(recorder), recorder:
        model(image)
    return recorder.calls


def _shape_alone(name: str, args: tuple[Any, ...]) -> torch.Tensor | None:
    """Return the result of a pointwise operator, which has the shape of its input: meta kernels take longer."""
    first = args[0] if args else None
    if not isinstance(first, torch.Tensor):
        return None
    if name in _IN_PLACE:
        return first
    if name not in _POINTWISE:
        return None
    shapes = {part.shape for part in args if isinstance(part, torch.Tensor)}
    types = {part.dtype for part in args if isinstance(part, torch.Tensor)}
    return torch.empty_like(first) if len(shapes) == 1 and len(types) == 1 else None


def _kind(name: str) -> str:
    if name in _KINDS:
        return _KINDS[name]
    if any(part in name for part in _POOL):
        return "pool"
    if name in _REDUCE:
        return "reduce"
    return "copy" if name in _COPY else "pointwise"


def _product(name: str, args: tuple[Any, ...], result: Any) -> tuple[str, int, int, int, int] | None:
    """Return kind, rows, columns, depth and groups of a product, or None for other operators."""
    shapes: dict[str, Callable[[], tuple[str, int, int, int, int]]] = {
        "convolution": lambda: _convolution(args, result),
        "mm": lambda: ("linear", args[0].shape[0], args[1].shape[1], args[0].shape[1], 1),
        "addmm": lambda: ("linear", args[1].shape[0], args[2].shape[1], args[1].shape[1], 1),
        "bmm": lambda: ("bmm", args[0].shape[1], args[1].shape[2], args[0].shape[2], args[0].shape[0]),
        "baddbmm": lambda: ("bmm", args[1].shape[1], args[2].shape[2], args[1].shape[2], args[1].shape[0]),
    }
    return shapes[name]() if name in shapes else None


def _convolution(args: tuple[Any, ...], result: torch.Tensor) -> tuple[str, int, int, int, int]:
    weight, groups = args[1], args[8]
    kernel = math.prod(weight.shape[2:])
    channels = weight.shape[1] * groups
    kind = "grouped" if groups > 1 else "conv" if kernel > 1 else "conv1x1"
    if groups == channels and groups > 1:
        kind = "depthwise"
    rows = result.shape[0] * math.prod(result.shape[2:])
    return kind, rows, weight.shape[0] // groups, weight.shape[1] * kernel, groups


def _tensors(values: Sequence[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _elements(tensor: torch.Tensor) -> int:
    """Return the distinct elements of a tensor: an expanded one has fewer than its shape."""
    return min(tensor.numel(), tensor.untyped_storage().nbytes() // max(1, tensor.element_size()))
