"""The layers as Flax (nnx) layers. Images are (batch, height, width, channels)."""

from typing import Any, Callable, Dict, Type

import jax
import numpy
from flax import nnx
from jax import numpy as jnp

from ....models import blocks, layers
from ....models.initial_weights import InitialWeights
from ....models.layers import Layer, Layers, Shape

Arrays = Dict[str, numpy.ndarray]
Common = Dict[str, Any]  # Flax's arguments of every layer: `rngs`, `dtype` of arithmetic, `param_dtype` of weights
Step = Callable[[jax.Array], jax.Array]


def sequential(chain: Layers, shape: Shape, weights: InitialWeights, common: Common) -> nnx.Sequential:
    """Return the modules of `chain`, which takes items of `shape`, with their initial weights."""
    steps = []
    for layer in chain:
        steps.append(_step(layer, shape, weights, common))
        shape = layer.output(shape)
    return nnx.Sequential(*steps)


def _step(layer: Layer, shape: Shape, weights: InitialWeights, common: Common) -> Step:
    if isinstance(layer, blocks.Residual):
        body = sequential(layer.body, shape, weights, common)
        return Residual(body, sequential(layer.shortcut, shape, weights, common) if layer.shortcut else None)
    if isinstance(layer, blocks.Branches):
        return Branches(*(sequential(body, shape, weights, common) for body in layer.bodies))
    if isinstance(layer, blocks.EncoderLayer):
        return sequential(layer.parts, shape, weights, common)
    return _BUILDERS[type(layer)](layer, shape, weights.of(layer, shape), common)


class Residual(nnx.Module):
    """The sum of body and shortcut; without a shortcut, of body and input."""

    def __init__(self, body: Step, shortcut: Any) -> None:
        self.body = body
        self.shortcut = shortcut

    def __call__(self, batch: jax.Array) -> jax.Array:
        return self.body(batch) + (self.shortcut(batch) if self.shortcut else batch)


class Branches(nnx.Sequential):
    """The channels of several chains, concatenated."""

    def __call__(self, batch: jax.Array) -> jax.Array:
        return jnp.concatenate([body(batch) for body in self.layers], -1)


class Embedding(nnx.Module):
    """The sum of the vectors of token, position and segment 0."""

    def __init__(self, layer: layers.Embedding, shape: Shape, arrays: Arrays, common: Common) -> None:
        def table(rows: int, name: str) -> nnx.Embed:
            return nnx.Embed(rows, layer.width, embedding_init=_given(arrays[name]), **common)

        self.tokens = table(layer.vocabulary, "tokens")
        self.positions = table(layer.positions, "positions")
        self.segments = table(layer.segments, "segments") if layer.segments else None

    def __call__(self, tokens: jax.Array) -> jax.Array:
        order = jnp.arange(tokens.shape[1])
        vectors = self.tokens(tokens) + self.positions(order)
        return vectors + self.segments(jnp.zeros_like(order)) if self.segments else vectors


class CausalAttention(nnx.Module):
    """Self-attention without access to later time steps."""

    def __init__(self, attention: nnx.MultiHeadAttention) -> None:
        self.attention = attention

    def __call__(self, batch: jax.Array) -> jax.Array:
        return self.attention(batch, mask=nnx.make_causal_mask(batch[..., 0]))


def _dense(layer: layers.Dense, shape: Shape, arrays: Arrays, common: Common) -> Step:
    first = {"kernel_init": _given(arrays["kernel"].T)}
    if layer.bias:
        first["bias_init"] = _given(arrays["bias"])
    return nnx.Linear(shape[-1], layer.outputs, use_bias=layer.bias, **first, **common)


def _conv(layer: layers.Conv, shape: Shape, arrays: Arrays, common: Common) -> Step:
    return nnx.Conv(
        shape[0],
        layer.filters,
        layer.kernel,
        layer.stride,
        padding=_both_sides(layer.padding),
        use_bias=layer.bias,
        kernel_init=_given(arrays["kernel"].transpose(2, 3, 1, 0)),
        bias_init=_given(arrays["bias"]) if layer.bias else nnx.initializers.zeros_init(),
        **common,
    )


def _batch_norm(layer: layers.BatchNorm, shape: Shape, arrays: Arrays, common: Common) -> Step:
    return nnx.BatchNorm(shape[0], momentum=0.9, epsilon=layer.epsilon, **_norm(arrays), **common)


def _layer_norm(layer: layers.LayerNorm, shape: Shape, arrays: Arrays, common: Common) -> Step:
    return nnx.LayerNorm(shape[-1], epsilon=layer.epsilon, **_norm(arrays), **common)


def _norm(arrays: Arrays) -> Dict[str, Any]:
    return {"scale_init": _given(arrays["scale"]), "bias_init": _given(arrays["offset"])}


def _lstm(layer: layers.Lstm, shape: Shape, arrays: Arrays, common: Common) -> Step:
    """Return stacked LSTM layers. Flax's cell has the gates in our order, and is scanned over time."""

    def one_way(depth: int, direction: int) -> nnx.RNN:
        place = "%d_%d" % (depth, direction)
        cell = nnx.OptimizedLSTMCell(
            layer.inputs(shape, depth),
            layer.hidden,
            kernel_init=_given(arrays["input_kernel_" + place].T),
            recurrent_kernel_init=_given(arrays["hidden_kernel_" + place].T),
            bias_init=_given(arrays["bias_" + place]),
            **common,
        )
        return nnx.RNN(cell, rngs=common["rngs"])

    stacked = []
    for depth in range(layer.layers):
        ways = [one_way(depth, direction) for direction in range(layer.directions)]
        stacked.append(nnx.Bidirectional(*ways, rngs=common["rngs"]) if layer.bidirectional else ways[0])
    return nnx.Sequential(*stacked)


def _attention(layer: layers.Attention, shape: Shape, arrays: Arrays, common: Common) -> Step:
    width = shape[-1]
    heads = (layer.heads, width // layer.heads)
    attention = nnx.MultiHeadAttention(
        layer.heads, width, dropout_rate=layer.dropout, broadcast_dropout=False, decode=False, **common
    )
    for name in ("query", "key", "value"):
        kernel, bias = arrays[name + "_kernel"].T.reshape(width, *heads), arrays[name + "_bias"].reshape(heads)
        _set(getattr(attention, name), kernel, bias)
    _set(attention.out, arrays["result_kernel"].T.reshape(*heads, width), arrays["result_bias"])
    return CausalAttention(attention) if layer.causal else attention


def _max_pool(layer: layers.MaxPool, shape: Shape, arrays: Arrays, common: Common) -> Step:
    return _pool(nnx.max_pool, layer.kernel, layer.stride, layer.padding)


def _average_pool(layer: layers.AvgPool, shape: Shape, arrays: Arrays, common: Common) -> Step:
    return _pool(nnx.avg_pool, layer.kernel, layer.stride, layer.padding)


def _pool(function: Callable[..., jax.Array], kernel: int, stride: int, padding: int) -> Step:
    sides = _both_sides((padding, padding))
    return lambda batch: function(batch, (kernel, kernel), (stride, stride), sides)


def _flatten(batch: jax.Array) -> jax.Array:
    return (batch.transpose(0, 3, 1, 2) if batch.ndim == 4 else batch).reshape(len(batch), -1)


def _exact_gelu(batch: jax.Array) -> jax.Array:
    return nnx.gelu(batch, approximate=False)


_BUILDERS: Dict[Type[Layer], Callable[[Any, Shape, Arrays, Common], Step]] = {
    layers.Dense: _dense,
    layers.Conv: _conv,
    layers.BatchNorm: _batch_norm,
    layers.LayerNorm: _layer_norm,
    layers.Lstm: _lstm,
    layers.Attention: _attention,
    layers.Embedding: Embedding,
    layers.MaxPool: _max_pool,
    layers.AvgPool: _average_pool,
    layers.GlobalAvgPool: lambda layer, shape, arrays, common: lambda batch: batch.mean((1, 2)),
    layers.Flatten: lambda layer, shape, arrays, common: _flatten,
    layers.TakeStep: lambda layer, shape, arrays, common: lambda batch: batch[:, layer.index],
    layers.Relu: lambda layer, shape, arrays, common: nnx.relu,
    layers.Gelu: lambda layer, shape, arrays, common: _exact_gelu,
    layers.Tanh: lambda layer, shape, arrays, common: nnx.tanh,
    layers.Dropout: lambda layer, shape, arrays, common: nnx.Dropout(layer.rate, rngs=common["rngs"]),
}


def _given(array: numpy.ndarray) -> Callable[..., jax.Array]:
    """Return an initializer for Flax that returns `array`."""
    return lambda key, shape, dtype, **_: jnp.asarray(array, dtype).reshape(shape)


def _set(linear: Any, kernel: numpy.ndarray, bias: numpy.ndarray) -> None:
    """Set the weights of one projection: the projections of an attention share one initializer."""
    linear.kernel = nnx.Param(jnp.asarray(kernel, linear.param_dtype))
    linear.bias = nnx.Param(jnp.asarray(bias, linear.param_dtype))


def _both_sides(padding: layers.Pair) -> Any:
    return [(sides, sides) for sides in padding]
