"""The layers as layers of Keras 3, joined by its functional API, for all of its backends."""

from typing import Any, Callable, Dict, List, Type

import keras
import numpy

from ....models import blocks, layers
from ....models.initial_weights import InitialWeights
from ....models.layers import Layer, Layers, Shape
from ...workload.problem import Problem
from ..supported_library import SupportedLibrary

Arrays = Dict[str, numpy.ndarray]
Tensor = Any  # symbolic

KERAS = SupportedLibrary("Keras", keras.__version__, "3", "4")

# The native layout of each backend: with the other one, every convolution would transpose its input.
CHANNELS_FIRST = keras.backend.backend() == "torch"
LAYOUT = "channels_first" if CHANNELS_FIRST else "channels_last"
keras.config.set_image_data_format(LAYOUT)
CHANNELS = 1 if CHANNELS_FIRST else -1


def model_of(problem: Problem) -> keras.Model:
    """Return the model of a case with its initial weights; images have the layout of the backend."""
    dtype = problem.parameters["dtype"]
    keras.config.set_dtype_policy(dtype_policy(problem))
    keras.utils.set_random_seed(problem.parameters["seed"] + problem.group.rank)  # of dropout
    shape = problem.item_shape
    tokens = problem.layers and isinstance(problem.layers[0], layers.Embedding)
    given = shape if CHANNELS_FIRST or len(shape) < 3 else (*shape[1:], shape[0])
    # A model casts its batch to the dtype of its input: in inference, that is the dtype of the batch.
    start = keras.Input(given, dtype="int32" if tokens else "float32" if problem.training else dtype)
    return keras.Model(start, _chain(problem.layers, start, shape, problem.weights()))


def dtype_policy(problem: Problem) -> str:
    """Return the dtype policy of a case: training in 16 bits has float32 weights."""
    dtype: str = problem.parameters["dtype"]
    return "mixed_" + dtype if problem.training and dtype != "float32" else dtype


def _chain(chain: Layers, tensor: Tensor, shape: Shape, weights: InitialWeights) -> Tensor:
    for layer in chain:
        tensor = _applied(layer, tensor, shape, weights)
        shape = layer.output(shape)
    return tensor


def _applied(layer: Layer, tensor: Tensor, shape: Shape, weights: InitialWeights) -> Tensor:
    if isinstance(layer, blocks.Residual):
        body = _chain(layer.body, tensor, shape, weights)
        return keras.layers.Add()([body, _chain(layer.shortcut, tensor, shape, weights)])
    if isinstance(layer, blocks.Branches):
        results = [_chain(body, tensor, shape, weights) for body in layer.bodies]
        return keras.layers.Concatenate(axis=CHANNELS)(results)
    if isinstance(layer, blocks.EncoderLayer):
        return _chain(layer.parts, tensor, shape, weights)
    return _BUILDERS[type(layer)](layer, tensor, weights.of(layer, shape))


def _dense(layer: layers.Dense, tensor: Tensor, arrays: Arrays) -> Tensor:
    values = [arrays["kernel"].T, arrays["bias"]] if layer.bias else [arrays["kernel"].T]
    return _with(values, keras.layers.Dense(layer.outputs, use_bias=layer.bias), tensor)


def _conv(layer: layers.Conv, tensor: Tensor, arrays: Arrays) -> Tensor:
    same = layer.stride == 1 and all(2 * layer.padding[d] + 1 == layer.kernel[d] for d in (0, 1))
    convolution = keras.layers.Conv2D(
        layer.filters, layer.kernel, layer.stride, padding="same" if same else "valid", use_bias=layer.bias
    )
    kernel = arrays["kernel"].transpose(2, 3, 1, 0)
    values = [kernel, arrays["bias"]] if layer.bias else [kernel]
    return _with(values, convolution, tensor if same else _padded(tensor, layer.padding))


def _batch_norm(layer: layers.BatchNorm, tensor: Tensor, arrays: Arrays) -> Tensor:
    norm = keras.layers.BatchNormalization(axis=CHANNELS, momentum=0.9, epsilon=layer.epsilon)
    scale = arrays["scale"]
    return _with([scale, arrays["offset"], numpy.zeros_like(scale), numpy.ones_like(scale)], norm, tensor)


def _layer_norm(layer: layers.LayerNorm, tensor: Tensor, arrays: Arrays) -> Tensor:
    return _with([arrays["scale"], arrays["offset"]], keras.layers.LayerNormalization(epsilon=layer.epsilon), tensor)


def _max_pool(layer: layers.MaxPool, tensor: Tensor, arrays: Arrays) -> Tensor:
    if CHANNELS_FIRST and layer.is_over_whole(tensor.shape[1:]):  # as in pytorch/layers.py
        return keras.layers.GlobalMaxPooling2D(keepdims=True)(tensor)
    return keras.layers.MaxPooling2D(layer.kernel, layer.stride)(_padded(tensor, (layer.padding, layer.padding)))


def _average_pool(layer: layers.AvgPool, tensor: Tensor, arrays: Arrays) -> Tensor:
    return keras.layers.AveragePooling2D(layer.kernel, layer.stride)(_padded(tensor, (layer.padding, layer.padding)))


def _flatten(layer: Layer, tensor: Tensor, arrays: Arrays) -> Tensor:
    if not CHANNELS_FIRST and len(tensor.shape) == 4:
        tensor = keras.layers.Permute((3, 1, 2))(tensor)
    return keras.layers.Reshape((-1,))(tensor)  # Flatten would undo the layout


def _lstm(layer: layers.Lstm, tensor: Tensor, arrays: Arrays) -> Tensor:
    for depth in range(layer.layers):
        # The default initializer cannot compute in 16 bits on JAX; the weights are set below.
        cell = keras.layers.LSTM(layer.hidden, return_sequences=True, recurrent_initializer="zeros")
        values = []
        for direction in range(layer.directions):
            place = "%d_%d" % (depth, direction)
            values += [arrays["input_kernel_" + place].T, arrays["hidden_kernel_" + place].T, arrays["bias_" + place]]
        tensor = _with(values, keras.layers.Bidirectional(cell) if layer.bidirectional else cell, tensor)
    return tensor


def _attention(layer: layers.Attention, tensor: Tensor, arrays: Arrays) -> Tensor:
    width = tensor.shape[-1]
    heads = (layer.heads, width // layer.heads)
    attention = keras.layers.MultiHeadAttention(*heads, dropout=layer.dropout)
    values = []
    for name in ("query", "key", "value"):
        values += [arrays[name + "_kernel"].T.reshape(width, *heads), arrays[name + "_bias"].reshape(heads)]
    values += [arrays["result_kernel"].T.reshape(*heads, width), arrays["result_bias"]]
    result = attention(tensor, tensor, use_causal_mask=layer.causal)
    attention.set_weights(values)
    return result


class Embedding(keras.layers.Layer):
    """The sum of the vectors of token, position and segment 0."""

    def __init__(self, layer: layers.Embedding, length: int) -> None:
        super().__init__()
        self.tokens = keras.layers.Embedding(layer.vocabulary, layer.width)
        self.positions = keras.layers.Embedding(layer.positions, layer.width)
        self.segments = keras.layers.Embedding(layer.segments, layer.width) if layer.segments else None
        self.length = length

    def build(self, shape: Shape) -> None:
        """Create the weights of the tables."""
        for table in (self.tokens, self.positions, self.segments):
            if table is not None:
                table.build(shape)

    def call(self, tokens: Tensor) -> Tensor:
        """Return (batch, time, width) for tokens (batch, time)."""
        order = keras.ops.arange(self.length, dtype="int32")
        vectors = self.tokens(tokens) + self.positions(order)
        if self.segments is None:
            return vectors
        return vectors + self.segments(keras.ops.zeros((1,), dtype="int32"))


def _embedding(layer: layers.Embedding, tensor: Tensor, arrays: Arrays) -> Tensor:
    return _with([*arrays.values()], Embedding(layer, tensor.shape[1]), tensor)


def _take_step(layer: layers.TakeStep, tensor: Tensor, arrays: Arrays) -> Tensor:
    return tensor[:, layer.index]


_BUILDERS: Dict[Type[Layer], Callable[[Any, Tensor, Arrays], Tensor]] = {
    layers.Dense: _dense,
    layers.Conv: _conv,
    layers.BatchNorm: _batch_norm,
    layers.LayerNorm: _layer_norm,
    layers.MaxPool: _max_pool,
    layers.AvgPool: _average_pool,
    layers.Flatten: _flatten,
    layers.Lstm: _lstm,
    layers.Attention: _attention,
    layers.Embedding: _embedding,
    layers.TakeStep: _take_step,
    layers.GlobalAvgPool: lambda layer, tensor, arrays: keras.layers.GlobalAveragePooling2D()(tensor),
    layers.Relu: lambda layer, tensor, arrays: keras.layers.Activation("relu")(tensor),
    layers.Gelu: lambda layer, tensor, arrays: keras.layers.Activation(_exact_gelu)(tensor),
    layers.Tanh: lambda layer, tensor, arrays: keras.layers.Activation("tanh")(tensor),
    layers.Dropout: lambda layer, tensor, arrays: keras.layers.Dropout(layer.rate)(tensor),
}


def _exact_gelu(tensor: Tensor) -> Tensor:
    return keras.activations.gelu(tensor, approximate=False)


def _with(values: List["numpy.ndarray"], layer: Any, tensor: Tensor) -> Tensor:
    """Return the result of a layer, and set its weights, which exist only after the first call."""
    result = layer(tensor)
    layer.set_weights(values)
    return result


def _padded(tensor: Tensor, padding: layers.Pair) -> Tensor:
    return keras.layers.ZeroPadding2D(padding)(tensor) if any(padding) else tensor
