"""The reference of a whole network: its output and loss in float64 with bounds of rounding errors.

Each layer is defined by the functions of models/reference, as layers.py describes it. Dropout is left out.
"""

from dataclasses import replace
from functools import singledispatch
from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple

import numpy

from . import blocks, layers
from .layers import Layer, Layers, Shape
from .operators import pointwise, products, recurrent, reductions
from .operators.reference import result_of
from .reference.functions import (
    add,
    concatenate,
    constant,
    maximum,
    mean,
    multiply,
    reciprocal_root,
    reshape,
    subtract,
    swap,
    take,
    transpose,
)
from .reference.products import matmul
from .reference.variable import Variable
from .reference.windows import windows

Weights = Dict[str, Variable]


class Named(NamedTuple):
    """A layer with weights inside a network: its path, such as `7.0.2 Conv`, and the shape of an item of its input."""

    path: str
    layer: Layer
    shape: Shape


def with_weights(chain: Layers, shape: Shape, prefix: str = "") -> Iterator[Named]:
    """Yield the layers with weights of a chain that takes items of `shape`, in the order of initial_weights.py."""
    for place, layer in enumerate(chain):
        path = "%s%d" % (prefix, place)
        if layer.weights(shape):
            yield Named("%s %s" % (path, type(layer).__name__), layer, shape)
        for number, body in enumerate(blocks.bodies(layer)):
            yield from with_weights(body, shape, "%s.%d." % (path, number))
        shape = layer.output(shape)


def output_of(chain: Layers, batch: Variable, weights: Iterator[Weights], training: bool) -> Variable:
    """Return the output of a chain for a batch, whose items have the first dimension.

    `weights` yields those of each layer with weights, in the order of `with_weights`.
    """
    for layer in chain:
        if isinstance(layer, blocks.Residual):
            body, shortcut = (output_of(part, batch, weights, training) for part in (layer.body, layer.shortcut))
            batch = add(body, shortcut)
        elif isinstance(layer, blocks.Branches):
            batch = concatenate([output_of(body, batch, weights, training) for body in layer.bodies], 1)
        elif isinstance(layer, blocks.EncoderLayer):
            batch = output_of(layer.parts, batch, weights, training)
        else:
            own = next(weights) if layer.weights(batch.shape[1:]) else {}
            batch = _result(layer, batch, own, training)
    return batch


def loss_of(logits: Variable, labels: "numpy.ndarray") -> Variable:
    """Return the mean cross entropy of logits (batch, [time,] classes) and labels (batch, [time])."""
    classes = logits.shape[-1]
    flat = reshape(logits, (labels.size, classes))
    operator = reductions.CrossEntropy(rows=labels.size, classes=classes)
    return result_of(operator, {"logits": flat}, {"labels": labels.ravel()})


@singledispatch
def _result(layer: Layer, x: Variable, weights: Weights, training: bool) -> Variable:
    raise NotImplementedError("the layer %r has no reference" % layer)


@_result.register
def _of_dense(layer: layers.Dense, x: Variable, weights: Weights, training: bool) -> Variable:
    product = _product(x, weights["kernel"])
    return add(product, weights["bias"]) if layer.bias else product


@_result.register
def _of_conv(layer: layers.Conv, x: Variable, weights: Weights, training: bool) -> Variable:
    n, channels, height, width = x.shape
    operator = products.Conv2d(
        *(n, channels, height, width, layer.filters, *layer.kernel, *layer.padding, layer.stride, layer.stride)
    )
    result = result_of(operator, {"x": x, "kernel": weights["kernel"]}, {})
    return add(result, reshape(weights["bias"], (layer.filters, 1, 1))) if layer.bias else result


@_result.register
def _of_batch_norm(layer: layers.BatchNorm, x: Variable, weights: Weights, training: bool) -> Variable:
    shape = (x.shape[1], 1, 1)
    mean_of = [reshape(mean(x, (0, 2, 3)), shape)] if training else []
    return _normalized(x, mean_of, (0, 2, 3), shape, layer.epsilon, weights)


@_result.register
def _of_layer_norm(layer: layers.LayerNorm, x: Variable, weights: Weights, training: bool) -> Variable:
    shape = (*x.shape[:-1], 1)
    return _normalized(x, [reshape(mean(x, (-1,)), shape)], (-1,), shape, layer.epsilon, weights)


def _normalized(
    x: Variable, means: List[Variable], axes: Tuple[int, ...], shape: Shape, epsilon: float, weights: Weights
) -> Variable:
    """Return x normalized over axes, scaled and shifted; without `means`, by the running mean 0 and variance 1."""
    centered = subtract(x, means[0]) if means else x
    variance = reshape(mean(multiply(centered, centered), axes), shape) if means else constant(x, numpy.ones(shape))
    result = multiply(centered, reciprocal_root(add(variance, constant(x, epsilon))))
    own = shape if axes != (-1,) else x.shape[-1:]
    return add(multiply(result, reshape(weights["scale"], own)), reshape(weights["offset"], own))


@_result.register
def _of_relu(layer: layers.Relu, x: Variable, weights: Weights, training: bool) -> Variable:
    return result_of(pointwise.Relu(), {"x": x}, {})


@_result.register
def _of_gelu(layer: layers.Gelu, x: Variable, weights: Weights, training: bool) -> Variable:
    return result_of(pointwise.Gelu(), {"x": x}, {})


@_result.register
def _of_tanh(layer: layers.Tanh, x: Variable, weights: Weights, training: bool) -> Variable:
    return result_of(pointwise.Tanh(), {"x": x}, {})


@_result.register
def _of_dropout(layer: layers.Dropout, x: Variable, weights: Weights, training: bool) -> Variable:
    return x


@_result.register
def _of_max_pool(layer: layers.MaxPool, x: Variable, weights: Weights, training: bool) -> Variable:
    return maximum(_pools(layer, x, -numpy.inf), (2, 3))


@_result.register
def _of_avg_pool(layer: layers.AvgPool, x: Variable, weights: Weights, training: bool) -> Variable:
    return mean(_pools(layer, x, 0.0), (2, 3))


def _pools(layer: "layers.MaxPool | layers.AvgPool", x: Variable, fill: float) -> Variable:
    return windows(x, (layer.kernel,) * 2, (layer.stride,) * 2, (layer.padding,) * 2, fill)


@_result.register
def _of_global_average(layer: layers.GlobalAvgPool, x: Variable, weights: Weights, training: bool) -> Variable:
    return mean(x, (2, 3))


@_result.register
def _of_flatten(layer: layers.Flatten, x: Variable, weights: Weights, training: bool) -> Variable:
    return reshape(x, (x.shape[0], x.value[0].size))


@_result.register
def _of_step(layer: layers.TakeStep, x: Variable, weights: Weights, training: bool) -> Variable:
    return take(x, (slice(None), layer.index))


@_result.register
def _of_lstm(layer: layers.Lstm, x: Variable, weights: Weights, training: bool) -> Variable:
    batch, time = x.shape[:2]
    operator = recurrent.LstmCell(layer.hidden, batch, time)
    for depth in range(layer.layers):
        outputs = []
        for direction in range(layer.directions):
            order = (slice(None), slice(None, None, -1 if direction else 1))
            place = "%d_%d" % (depth, direction)
            gates = add(_product(take(x, order), weights["input_kernel_" + place]), weights["bias_" + place])
            found = result_of(operator, {"x": gates, "kernel": weights["hidden_kernel_" + place]}, {})
            outputs.append(take(found, order))
        x = concatenate(outputs, 2)
    return x


@_result.register
def _of_embedding(layer: layers.Embedding, x: Variable, weights: Weights, training: bool) -> Variable:
    tokens = x.value.astype(numpy.int64)
    vectors = add(take(weights["tokens"], tokens), take(weights["positions"], numpy.arange(tokens.shape[1])))
    return add(vectors, take(weights["segments"], numpy.zeros(1, numpy.int64))) if layer.segments else vectors


@_result.register
def _of_attention(layer: layers.Attention, x: Variable, weights: Weights, training: bool) -> Variable:
    batch, time, width = x.shape
    size = width // layer.heads

    def projected(name: str) -> Variable:
        result = add(_product(x, weights[name + "_kernel"]), weights[name + "_bias"])
        return transpose(reshape(result, (batch, time, layer.heads, size)), (0, 2, 1, 3))

    operator = products.Attention(batch, layer.heads, time, size, layer.causal)
    heads = result_of(operator, {name: projected(name) for name in ("query", "key", "value")}, {})
    joined = reshape(transpose(heads, (0, 2, 1, 3)), (batch, time, width))
    return add(_product(joined, weights["result_kernel"]), weights["result_bias"])


def _product(x: Variable, kernel: Variable) -> Variable:
    """Return the product of the last dimension of x with a kernel (outputs, inputs)."""
    rows = reshape(x, (x.value[..., 0].size, x.shape[-1]))
    return reshape(matmul(rows, swap(kernel)), (*x.shape[:-1], kernel.shape[0]))


def without_dropout(chain: Sequence[Layer]) -> List[Layer]:
    """Return a chain whose dropout has a rate of 0, so that its results are not random."""
    return [_without_dropout(layer) for layer in chain]


def _without_dropout(layer: Layer) -> Layer:
    if isinstance(layer, layers.Dropout):
        return replace(layer, rate=0.0)
    if isinstance(layer, (layers.Attention, blocks.EncoderLayer)):
        return replace(layer, dropout=0.0)
    if isinstance(layer, blocks.Residual):
        return replace(layer, body=tuple(without_dropout(layer.body)), shortcut=tuple(without_dropout(layer.shortcut)))
    if isinstance(layer, blocks.Branches):
        return replace(layer, bodies=tuple(tuple(without_dropout(body)) for body in layer.bodies))
    return layer
