"""Each operator in plain NumPy, in the precision of its arrays, written independently of models/operators/reference.

Options, whose defaults are right, plant errors as kernels have had them. A few operators have their backward pass, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from hpcbench.models.operators import normalization
from hpcbench.models.operators.operator import title

Array = Any
MEAN, VARIANCE = normalization.RUNNING_MEAN, normalization.RUNNING_VARIANCE


def forward(operator: Any, arrays: dict[str, Array], **options: Any) -> Array:
    return FORWARD[title(type(operator))](operator, **arrays, **options)


def backward(operator: Any, arrays: dict[str, Array], cotangent: Array, **options: Any) -> dict[str, Array]:
    return BACKWARD[title(type(operator))](operator, cotangent, **arrays, **options)


def _windows(
    x: Array, kernel: tuple[int, int], stride: tuple[int, int], pad: tuple[int, int], fill: float
) -> list[tuple[int, int, Array]]:
    """The elements that each tap of a kernel is at, for all its places."""
    padded = np.pad(x, ((0, 0), (0, 0), (pad[0], pad[0]), (pad[1], pad[1])), constant_values=fill)
    height, width = ((padded.shape[2 + side] - kernel[side]) // stride[side] + 1 for side in (0, 1))
    return [
        (row, column, padded[:, :, row:, column:][:, :, :: stride[0], :: stride[1]][:, :, :height, :width])
        for row in range(kernel[0])
        for column in range(kernel[1])
    ]


def conv2d(o: Any, x: Array, kernel: Array, dropped: Any = None, offset: int = 0) -> Array:
    x = np.roll(x, offset, 3)
    parts = _windows(x, kernel.shape[2:], (o.stride_h, o.stride_w), (o.pad_h, o.pad_w), 0.0)
    taps = [(row, column, part) for row, column, part in parts if (row, column) != dropped]
    return sum(np.einsum("nchw,oc->nohw", part, kernel[:, :, row, column]) for row, column, part in taps)


def gemm(o: Any, a: Array, b: Array, terms: int | None = None) -> Array:
    a, b = a.T if o.a_trans else a, b.T if o.b_trans else b
    return a[:, :terms] @ b[:terms]


def attention(o: Any, query: Array, key: Array, value: Array, diagonal: int = 0, scaled: bool = True) -> Array:
    scores = query @ key.swapaxes(2, 3)
    scores = scores / query.dtype.type(o.head_size**0.5 if scaled else 1)
    if o.causal:
        hidden = np.triu(np.ones(scores.shape[2:], bool), 1 + diagonal)
        scores = np.where(hidden, scores.dtype.type(-np.inf), scores)
    return _softmax(scores, -1) @ value


def _softmax(x: Array, axis: int) -> Array:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def layer_norm(
    o: Any,
    x: Array,
    scale: Array,
    offset: Array,
    epsilon: float = 1e-5,
    ddof: int = 0,
    root: Callable[..., Any] = np.sqrt,
) -> Array:
    divided = root(x.var(1, ddof=ddof, keepdims=True) + x.dtype.type(epsilon))
    return (x - x.mean(1, keepdims=True)) / divided * scale + offset


def batch_norm(o: Any, x: Array, scale: Array, offset: Array, ddof: int = 0, axes: Any = (0, 2, 3)) -> Array:
    mean, variance = x.dtype.type(MEAN), x.dtype.type(VARIANCE)
    if o.training:
        mean, variance = x.mean(axes, keepdims=True), x.var(axes, ddof=ddof, keepdims=True)
    normalized = (x - mean) / np.sqrt(variance + x.dtype.type(1e-5))
    return normalized * scale[:, None, None] + offset[:, None, None]


def pooling(o: Any, x: Array, fill: float = -np.inf) -> Array:
    if o.mode == "global_average":
        return x.mean((2, 3))
    kernel, stride, pad = ((each, each) for each in (o.kernel, o.stride, o.pad))
    parts = _windows(x, kernel, stride, pad, fill if o.mode == "max" else 0.0)
    stacked = np.stack([part for _, _, part in parts])
    return stacked.max(0) if o.mode == "max" else stacked.mean(0)


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def _over_time(x: Array, kernel: Array, hidden: int, step: Callable[..., Any]) -> Array:
    state = (np.zeros((x.shape[0], hidden), x.dtype),) * 2
    outputs = []
    for time in range(x.shape[1]):
        state = step(x[:, time], state[0] @ kernel.T, *state)
        outputs.append(state[0])
    return np.stack(outputs, 1)


def _lstm_step(order: str) -> Callable[..., Any]:
    def step(x: Array, product: Array, h: Array, c: Array) -> Any:
        gates = dict(zip(order, np.split(x + product, 4, 1), strict=True))
        c = _sigmoid(gates["f"]) * c + _sigmoid(gates["i"]) * np.tanh(gates["g"])
        return _sigmoid(gates["o"]) * np.tanh(c), c

    return step


def lstm_cell(o: Any, x: Array, kernel: Array, order: str = "ifgo") -> Array:
    return _over_time(x, kernel, o.hidden, _lstm_step(order))


def lstm(o: Any, x: Array, input_kernel: Array, hidden_kernel: Array) -> Array:
    return _over_time(x @ input_kernel.T, hidden_kernel, o.hidden, _lstm_step("ifgo"))


def gru_cell(o: Any, x: Array, kernel: Array, reset_first: bool = False) -> Array:
    def step(x: Array, product: Array, h: Array, _: Array) -> Any:
        (x_r, x_z, x_n), (u_r, u_z, u_n) = np.split(x, 3, 1), np.split(product, 3, 1)
        r, z = _sigmoid(x_r + u_r), _sigmoid(x_z + u_z)
        inner = (r * h) @ kernel[2 * o.hidden :].T if reset_first else r * u_n
        return (1 - z) * np.tanh(x_n + inner) + z * h, h

    return _over_time(x, kernel, o.hidden, step)


def rnn_cell(o: Any, x: Array, kernel: Array) -> Array:
    return _over_time(x, kernel, o.hidden, lambda x, product, *_: (np.maximum(x + product, 0),) * 2)


def cross_entropy(o: Any, logits: Array, labels: Array, reduce: Callable[..., Any] = np.mean) -> Array:
    return -reduce(np.log(_softmax(logits, 1))[np.arange(o.rows), labels])


def gelu(o: Any, x: Array, by_tanh: bool = False) -> Array:
    if by_tanh:
        return x / 2 * (1 + np.tanh(x.dtype.type((2 / np.pi) ** 0.5) * (x + x.dtype.type(0.044715) * x**3)))
    return x / 2 * (1 + special.erf(x / x.dtype.type(2**0.5)))


FORWARD: dict[str, Callable[..., Array]] = {
    **{each.__name__: each for each in (conv2d, gemm, attention, layer_norm, batch_norm, pooling)},
    **{each.__name__: each for each in (lstm, lstm_cell, gru_cell, rnn_cell, cross_entropy, gelu)},
    "bmm": lambda o, a, b: np.einsum("bmk,bkn->bmn", a, b),
    "sparse_gemm": lambda o, a, b: a @ b,
    "linear": lambda o, x, weight, bias, biased=1: x @ weight.T + biased * bias,
    "softmax": lambda o, x, axis=1: _softmax(x, axis),
    "sum": lambda o, x: x.sum(1),
    "mse": lambda o, x, target: ((x - target) ** 2).mean(),
    "relu": lambda o, x: np.maximum(x, 0),
    "tanh": lambda o, x: np.tanh(x),
    "add": lambda o, a, b: a + b,
    "embedding": lambda o, indices, table: table[indices],
    "transpose": lambda o, x: x.T,
    "concat": lambda o, a, b: np.concatenate([a, b], 1),
    "flatten": lambda o, x: x.reshape(o.n, -1),
    "all_reduce": lambda o, x: x,  # of one task
}


def _of_gemm(o: Any, g: Array, a: Array, b: Array) -> dict[str, Array]:
    of_a, of_b = g @ (b if o.b_trans else b.T), (a if o.a_trans else a.T) @ g
    return {"a": of_a.T if o.a_trans else of_a, "b": of_b.T if o.b_trans else of_b}


def _of_linear(o: Any, g: Array, x: Array, weight: Array, bias: Array, reduce: Any = np.sum) -> dict[str, Array]:
    return {"x": g @ weight, "weight": g.T @ x, "bias": reduce(g, axis=0)}


def _of_layer_norm(o: Any, g: Array, x: Array, scale: Array, offset: Array, of_mean: bool = True) -> dict[str, Array]:
    inverse = 1 / np.sqrt(x.var(1, keepdims=True) + x.dtype.type(1e-5))
    normalized = (x - x.mean(1, keepdims=True)) * inverse
    own = g * scale
    mean = own.mean(1, keepdims=True) if of_mean else 0
    of_x = inverse * (own - mean - normalized * (own * normalized).mean(1, keepdims=True))
    return {"x": of_x, "scale": (g * normalized).sum(0), "offset": g.sum(0)}


def _of_embedding(o: Any, g: Array, indices: Array, table: Array, added: bool = True) -> dict[str, Array]:
    gradient = np.zeros_like(table)
    if added:
        np.add.at(gradient, indices, g)
    else:
        gradient[indices] = g
    return {"table": gradient}


BACKWARD: dict[str, Callable[..., dict[str, Array]]] = {
    "gemm": _of_gemm,
    "linear": _of_linear,
    "layer_norm": _of_layer_norm,
    "embedding": _of_embedding,
}
