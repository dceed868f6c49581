"""Operators of exported graphs that PyTorch takes apart when it runs them, as the operators that it launches.

`torch.export` keeps composite operators, such as `conv2d` and `matmul`. Lists have the operators that are launched,
such as `convolution` and `mm`: see hpcbench/node/frameworks/pytorch/profiler/listing.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from hpcbench.collect.operator_lists.exported.graph import Node, Tensor

Launched = tuple[str, dict[str, Any]]
"""The name of an operator of aten, and its arguments."""
VIEWS = frozenset(
    (
        *("alias", "as_strided", "detach", "diagonal", "expand", "expand_as", "movedim", "moveaxis", "narrow"),
        *("select", "slice", "split", "split_with_sizes", "squeeze", "swapaxes", "swapdims", "t", "numpy_T", "permute"),
        *("adjoint", "mT", "mH", "transpose", "unbind", "unflatten", "unfold", "unsqueeze", "view", "view_as", "chunk"),
        *("tensor_split", "hsplit", "vsplit", "dsplit", "imag", "real", "lift_fresh", "lift_fresh_copy"),
        *("unsafe_split", "unsafe_chunk", "unsafe_split_with_sizes", "atleast_1d", "atleast_2d", "view_as_complex"),
        "_unsafe_view",
    )
)
_RESHAPES = ("reshape", "flatten", "reshape_as", "ravel")  # views if the elements are in order, otherwise copies
_CONVERSIONS = ("to", "type_as", "contiguous", "float", "half", "bfloat16", "double")  # nothing changes, or a copy
NOTHING = frozenset(
    (
        *("dropout", "dropout_", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", "_assert_async"),
        *("_assert_tensor_metadata", "_assert_scalar", "sym_size", "sym_numel", "sym_stride", "sym_constrain_range"),
        *("sym_constrain_range_for_size", "_local_scalar_dense", "item", "is_nonzero", "requires_grad_"),
    )
)


def launched(name: str, node: Node) -> Launched | None:
    """Return what a call of an operator of aten launches; None if it launches nothing.

    Raise KeyError, TypeError, ValueError or IndexError if the arguments are not those of the operator.
    """
    if name in NOTHING and not node.arguments.get("train"):
        return None
    if name in _RESHAPES or name in _CONVERSIONS:
        return _copied(name, node)
    composite = _COMPOSITES.get(name)
    return composite(node.arguments) if composite else (name, dict(node.arguments))


def _copied(name: str, node: Node) -> Launched | None:
    """Return the copy of a reshape or conversion; None if the result has the memory of the argument."""
    own, result = node.arguments["self"], node.outputs[0]
    if name in _RESHAPES:
        return None if own.is_contiguous or own.shape == result.shape else ("clone", {"self": own})
    return None if (own.dtype, own.strides) == (result.dtype, result.strides) else ("_to_copy", {"self": own})


def _convolution(dimensions: int, transposed: bool) -> Callable[[Mapping[str, Any]], Launched]:
    def composite(arguments: Mapping[str, Any]) -> Launched:
        inputs, weight = arguments["input"], arguments["weight"]
        dilation = _each(arguments.get("dilation", 1), dimensions)
        padding = arguments.get("padding", 0)
        if isinstance(padding, str):
            spans = [gap * (taps - 1) for gap, taps in zip(dilation, weight.shape[2:], strict=True)]
            padding = [0 if padding == "valid" else span // 2 for span in spans]
        return "convolution", {
            "input": inputs,
            "weight": weight,
            "stride": _each(arguments.get("stride", 1), dimensions),
            "padding": _each(padding, dimensions),
            "dilation": dilation,
            "transposed": transposed,
            "output_padding": _each(arguments.get("output_padding", 0), dimensions),
            "groups": arguments.get("groups", 1),
        }

    return composite


def _each(value: Any, dimensions: int) -> list[int]:
    values = list(value) if isinstance(value, list) else [value]
    return [int(each) for each in (values * dimensions if len(values) == 1 else values)]


def _product(arguments: Mapping[str, Any]) -> Launched:
    """Return the product that `matmul` computes: of two matrices, or of a batch of matrices."""
    one, other = arguments["self"], arguments["other"]
    k = one.shape[-1]
    if len(other.shape) <= 2:
        n = other.shape[1] if len(other.shape) == 2 else 1
        return "mm", {"self": _matrix(one, math.prod(one.shape[:-1]), k), "mat2": _matrix(other, k, n)}
    m, n = (one.shape[-2] if len(one.shape) > 1 else 1), other.shape[-1]
    batch = max(math.prod(one.shape[:-2]), math.prod(other.shape[:-2]))
    return "bmm", {"self": _matrix(one, batch, m, k), "mat2": _matrix(other, batch, k, n)}


def _einsum(arguments: Mapping[str, Any]) -> Launched:
    """Return the batch of products that an einsum of two tensors computes.

    Labels of both tensors are summed, or are in the batch if the result has them, too. Raise ValueError for another
    number of tensors, and if a label is implicit, repeated, or summed in one tensor only.
    """
    inputs, _, result = str(arguments["equation"]).replace(" ", "").partition("->")
    (ones, others), (one, other) = inputs.split(","), arguments["tensors"]
    sizes = {
        **dict(zip(ones, one.shape, strict=True)),
        **dict(zip(others, other.shape, strict=True)),
    }
    batch, summed = set(ones) & set(others) & set(result), set(ones) & set(others) - set(result)
    rows, columns = set(ones) - set(others), set(others) - set(ones)
    is_repeated = len(set(ones)) + len(set(others)) < len(ones) + len(others)
    if is_repeated or "." in inputs or (rows | columns | batch) != set(result):
        raise ValueError(f"'{arguments['equation']}' is not a product")
    b, m, n, k = (math.prod(sizes[label] for label in labels) for labels in (batch, rows, columns, summed))
    return "bmm", {"self": _matrix(one, b, m, k), "mat2": _matrix(other, b, k, n)}


def _matrix(tensor: Tensor, *shape: int) -> Tensor:
    strides = [math.prod(shape[place + 1 :]) for place in range(len(shape))]
    return Tensor(shape, tuple(strides), tensor.dtype, tensor.is_weight)


def _attention(arguments: Mapping[str, Any]) -> Launched:
    """Return fused attention of (batch, heads, time, width); without heads, there is one."""
    found = {}
    for name in ("query", "key", "value"):
        tensor = arguments[name]
        shape = (*tensor.shape[:-2][:1], math.prod(tensor.shape[1:-2]), *tensor.shape[-2:])
        found[name] = tensor if len(tensor.shape) == 4 else _matrix(tensor, *((1,) * (4 - len(shape))), *shape)
    return "_scaled_dot_product_flash_attention", {**found, "is_causal": bool(arguments.get("is_causal", False))}


def _renamed(name: str, **names: str) -> Callable[[Mapping[str, Any]], Launched]:
    """Return the composite that is another operator, with some arguments under other names."""
    return lambda arguments: (name, {names.get(each, each): value for each, value in arguments.items()})


def _recurrent(mode: int) -> Callable[[Mapping[str, Any]], Launched]:
    """Return the composite of all layers and directions of an RNN, as cuDNN launches them; modes are those of cuDNN."""

    def composite(arguments: Mapping[str, Any]) -> Launched:
        state = arguments["hx"]
        hidden = state[0] if isinstance(state, list) else state
        kept = ("input", "num_layers", "bidirectional", "batch_first")
        sizes = {name: arguments.get(name) for name in kept}
        return "_cudnn_rnn", {**sizes, "weight": arguments["params"], "hidden_size": hidden.shape[-1], "mode": mode}

    return composite


def _instance_norm(arguments: Mapping[str, Any]) -> Launched:
    inputs = arguments["input"]
    return "native_group_norm", {"input": inputs, "group": inputs.shape[1]}


_COMPOSITES: Mapping[str, Callable[[Mapping[str, Any]], Launched]] = {
    **{f"conv{dimensions}d": _convolution(dimensions, False) for dimensions in (1, 2, 3)},
    **{f"conv_transpose{dimensions}d": _convolution(dimensions, True) for dimensions in (1, 2, 3)},
    "matmul": _product,
    "einsum": _einsum,
    "scaled_dot_product_attention": _attention,
    "layer_norm": _renamed("native_layer_norm"),
    "group_norm": _renamed("native_group_norm", num_groups="group"),
    "instance_norm": _instance_norm,
    **{name: _recurrent(mode) for mode, name in enumerate(("rnn_relu", "rnn_tanh", "lstm", "gru"))},
    "pad": _renamed("constant_pad_nd"),
    **{f"adaptive_avg_pool{dimensions}d": _renamed("_adaptive_avg_pool2d") for dimensions in (1, 2, 3)},
    "max_pool1d": _renamed("max_pool2d"),
    "concat": _renamed("cat"),
    "concatenate": _renamed("cat"),
}
