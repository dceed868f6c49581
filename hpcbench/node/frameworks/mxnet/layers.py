"""The layers as Gluon blocks."""

from typing import Any, Callable, Dict, Type

import mxnet as mx
import numpy
from mxnet import gluon
from mxnet.gluon import nn

from ....models import blocks, layers
from ....models.initial_weights import InitialWeights
from ....models.layers import Layer, Layers, Shape

Arrays = Dict[str, numpy.ndarray]
MASKED = -30000.0  # added to scores before the softmax; representable in float16

Tensor = Any  # an NDArray, or a Symbol while a graph is built; F is the module of its functions


def sequential(chain: Layers, shape: Shape, weights: InitialWeights) -> nn.HybridSequential:
    """Return the blocks of `chain`, which takes items of `shape`, with their initial weights, on the CPU."""
    stack = nn.HybridSequential()
    for layer in chain:
        stack.add(_block(layer, shape, weights))
        shape = layer.output(shape)
    return stack


def _block(layer: Layer, shape: Shape, weights: InitialWeights) -> gluon.HybridBlock:
    if isinstance(layer, blocks.Residual):
        return Residual(sequential(layer.body, shape, weights), sequential(layer.shortcut, shape, weights))
    if isinstance(layer, blocks.Branches):
        branches = gluon.contrib.nn.HybridConcurrent(axis=1)
        branches.add(*(sequential(body, shape, weights) for body in layer.bodies))
        return branches
    if isinstance(layer, blocks.EncoderLayer):
        return sequential(layer.parts, shape, weights)
    return _BUILDERS[type(layer)](layer, shape, weights.of(layer, shape))


class Residual(gluon.HybridBlock):
    """The sum of body and shortcut; an empty shortcut is the input."""

    def __init__(self, body: gluon.HybridBlock, shortcut: gluon.HybridBlock) -> None:
        super().__init__()
        self.body = body
        self.shortcut = shortcut

    def hybrid_forward(self, F: Any, batch: Tensor) -> Tensor:  # noqa: N803 - Gluon calls it so
        """Return body + shortcut, of the shape of the body's output."""
        return self.body(batch) + self.shortcut(batch)


class Embedding(gluon.HybridBlock):
    """The sum of the vectors of token, position and segment 0."""

    def __init__(self, layer: layers.Embedding, shape: Shape, arrays: Arrays) -> None:
        super().__init__()
        self.length = shape[0]
        with self.name_scope():
            self.tokens = nn.Embedding(layer.vocabulary, layer.width)
            self.positions = self.params.get("positions", shape=(layer.positions, layer.width))
            if layer.segments:
                self.segments = self.params.get("segments", shape=(layer.segments, layer.width))
        _set(self, arrays, {"tokens": self.tokens.weight, **{name: getattr(self, name) for name in [*arrays][1:]}})

    def hybrid_forward(self, F: Any, tokens: Tensor, positions: Tensor, segments: Tensor = None) -> Tensor:  # noqa: N803
        """Return (batch, time, width) for tokens (batch, time)."""
        fixed = F.slice_axis(positions, axis=0, begin=0, end=self.length)
        if segments is not None:
            fixed = F.broadcast_add(fixed, F.slice_axis(segments, axis=0, begin=0, end=1))
        return F.broadcast_add(self.tokens(tokens), F.expand_dims(fixed, axis=0))


class Attention(gluon.HybridBlock):
    """Self-attention as in GluonNLP's BERT: one product for query, key and value, with rows grouped by head."""

    def __init__(self, layer: layers.Attention, shape: Shape, arrays: Arrays) -> None:
        super().__init__()
        width = shape[-1]
        self.heads = layer.heads
        with self.name_scope():
            self.projection = nn.Dense(3 * width, in_units=width, flatten=False)
            self.dropout = nn.Dropout(layer.dropout)
            self.result = nn.Dense(width, in_units=width, flatten=False)
            if layer.causal:
                later = numpy.triu(numpy.full((shape[0], shape[0]), MASKED, numpy.float32), 1)
                self.mask = self.params.get_constant("mask", later[numpy.newaxis])
                self.mask.initialize()
        _set_dense(self.projection, {part: self._by_head(arrays, part) for part in ("kernel", "bias")})
        _set_dense(self.result, {part: arrays["result_" + part] for part in ("kernel", "bias")})

    def _by_head(self, arrays: Arrays, part: str) -> "numpy.ndarray":
        three = numpy.stack([arrays["%s_%s" % (name, part)] for name in ("query", "key", "value")])
        heads = three.reshape(3, self.heads, -1, *three.shape[2:])
        return heads.swapaxes(0, 1).reshape(-1, *three.shape[2:])

    def hybrid_forward(self, F: Any, batch: Tensor, mask: Tensor = None) -> Tensor:  # noqa: N803
        """Return (batch, time, width) for a batch of that shape."""
        projected = self.projection(F.swapaxes(batch, 0, 1))
        scores = F.contrib.interleaved_matmul_selfatt_qk(projected, heads=self.heads)  # divides by sqrt(head's width)
        if mask is not None:
            scores = F.broadcast_add(scores, mask)
        probabilities = self.dropout(F.softmax(scores))
        heads = F.contrib.interleaved_matmul_selfatt_valatt(projected, probabilities, heads=self.heads)
        return F.swapaxes(self.result(heads), 0, 1)


class TakeStep(gluon.HybridBlock):
    """One time step of a sequence."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index

    def hybrid_forward(self, F: Any, batch: Tensor) -> Tensor:  # noqa: N803
        """Return (batch, features) for (batch, time, features)."""
        end = self.index + 1 or None
        return F.squeeze(F.slice_axis(batch, axis=1, begin=self.index, end=end), axis=1)


def _dense(layer: layers.Dense, shape: Shape, arrays: Arrays) -> gluon.HybridBlock:
    return _set_dense(nn.Dense(layer.outputs, in_units=shape[-1], flatten=False, use_bias=layer.bias), arrays)


def _conv(layer: layers.Conv, shape: Shape, arrays: Arrays) -> gluon.HybridBlock:
    convolution = nn.Conv2D(
        layer.filters, layer.kernel, layer.stride, layer.padding, use_bias=layer.bias, in_channels=shape[0]
    )
    return _set_dense(convolution, arrays)


def _batch_norm(layer: layers.BatchNorm, shape: Shape, arrays: Arrays) -> gluon.HybridBlock:
    return _set_norm(nn.BatchNorm(momentum=0.9, epsilon=layer.epsilon, in_channels=shape[0]), arrays)


def _layer_norm(layer: layers.LayerNorm, shape: Shape, arrays: Arrays) -> gluon.HybridBlock:
    return _set_norm(nn.LayerNorm(epsilon=layer.epsilon, in_channels=shape[-1]), arrays)


def _lstm(layer: layers.Lstm, shape: Shape, arrays: Arrays) -> gluon.HybridBlock:
    """Return MXNet's LSTM. Of its two biases per gate, the second stays at zero and is not trained."""
    block = gluon.rnn.LSTM(
        layer.hidden, layer.layers, layout="NTC", bidirectional=layer.bidirectional, input_size=shape[-1]
    )
    trained = {}
    for depth in range(layer.layers):
        for direction, letter in enumerate("lr"[: layer.directions]):
            place, own = "_%d_%d" % (depth, direction), "%s%d_" % (letter, depth)
            trained["input_kernel" + place] = getattr(block, own + "i2h_weight")
            trained["hidden_kernel" + place] = getattr(block, own + "h2h_weight")
            trained["bias" + place] = getattr(block, own + "i2h_bias")
            getattr(block, own + "h2h_bias").grad_req = "null"
    return _set(block, arrays, trained)


def _global_average(layer: Layer, shape: Shape, arrays: Arrays) -> gluon.HybridBlock:
    stack = nn.HybridSequential()
    stack.add(nn.GlobalAvgPool2D(), nn.Flatten())
    return stack


_BUILDERS: Dict[Type[Layer], Callable[[Any, Shape, Arrays], gluon.HybridBlock]] = {
    layers.Dense: _dense,
    layers.Conv: _conv,
    layers.BatchNorm: _batch_norm,
    layers.LayerNorm: _layer_norm,
    layers.Lstm: _lstm,
    layers.Embedding: Embedding,
    layers.Attention: Attention,
    layers.GlobalAvgPool: _global_average,
    layers.Relu: lambda layer, shape, arrays: nn.Activation("relu"),
    layers.Gelu: lambda layer, shape, arrays: nn.GELU(),
    layers.Tanh: lambda layer, shape, arrays: nn.Activation("tanh"),
    layers.Dropout: lambda layer, shape, arrays: nn.Dropout(layer.rate),
    layers.MaxPool: lambda layer, shape, arrays: nn.MaxPool2D(layer.kernel, layer.stride, layer.padding),
    layers.AvgPool: lambda layer, shape, arrays: nn.AvgPool2D(layer.kernel, layer.stride, layer.padding),
    layers.Flatten: lambda layer, shape, arrays: nn.Flatten(),
    layers.TakeStep: lambda layer, shape, arrays: TakeStep(layer.index),
}


def _set_dense(block: gluon.HybridBlock, arrays: Arrays) -> gluon.HybridBlock:
    return _set(block, arrays, {"kernel": block.weight, "bias": block.bias})


def _set_norm(block: gluon.HybridBlock, arrays: Arrays) -> gluon.HybridBlock:
    return _set(block, arrays, {"scale": block.gamma, "offset": block.beta})


def _set(block: gluon.HybridBlock, arrays: Arrays, parameters: Dict[str, Any]) -> gluon.HybridBlock:
    """Return `block` with `arrays` in its parameters; the others get the block's own initializer, or zeros."""
    block.initialize(mx.init.Zero())
    for name, array in arrays.items():
        parameters[name].set_data(mx.nd.array(array))
    return block
