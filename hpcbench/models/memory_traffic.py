"""The minimum memory traffic of the layers of a model, in numbers (not bytes), for the arithmetic intensity.

Each layer reads its input and its weights once and writes its output once. No data stay in a cache between layers;
within a layer, all data do.
"""

import math
from functools import singledispatch

from .blocks import Branches, EncoderLayer, Residual, bodies
from .layers import Attention, Dropout, Embedding, Flatten, Layer, Layers, Lstm, Shape, TakeStep


@singledispatch
def moved(layer: Layer, shape: Shape, training: bool) -> int:
    """Return how many numbers, without weights, a layer reads and writes in a forward pass of one item of `shape`."""
    return math.prod(shape) + math.prod(layer.output(shape))


@moved.register
def _of_flatten(layer: Flatten, shape: Shape, training: bool) -> int:
    return 0  # another view of the same numbers


@moved.register
def _of_step(layer: TakeStep, shape: Shape, training: bool) -> int:
    return 0  # a view of the same numbers


@moved.register
def _of_dropout(layer: Dropout, shape: Shape, training: bool) -> int:
    return 2 * math.prod(shape) if training else 0


@moved.register
def _of_lstm(layer: Lstm, shape: Shape, training: bool) -> int:
    """Count one sequence read and one written per layer of the stack; states and weights stay in the cache."""
    inputs = sum(layer.inputs(shape, number) for number in range(layer.layers))
    return shape[0] * (inputs + layer.layers * layer.hidden * layer.directions)


@moved.register
def _of_attention(layer: Attention, shape: Shape, training: bool) -> int:
    """Count the four products between arrays, and the scores (heads, time, time).

    The scores are the product of two arrays. They are read and written by the softmax, in training by the dropout,
    and by the weighted sums.
    """
    time, width = shape
    return 12 * time * width + (6 if training else 4) * layer.heads * time * time


@moved.register
def _of_residual(layer: Residual, shape: Shape, training: bool) -> int:
    return _inside(layer, shape, training) + 3 * math.prod(layer.output(shape))  # the sum of two


@moved.register
def _of_branches(layer: Branches, shape: Shape, training: bool) -> int:
    return _inside(layer, shape, training) + 2 * math.prod(layer.output(shape))  # concatenation copies


@moved.register
def _of_encoder(layer: EncoderLayer, shape: Shape, training: bool) -> int:
    return _inside(layer, shape, training)


def _inside(block: Layer, shape: Shape, training: bool) -> int:
    return sum(total_moved(body, shape, training) for body in bodies(block))


@singledispatch
def weights_read(layer: Layer, shape: Shape, items: int) -> int:
    """Return how many trainable numbers a layer reads in a forward pass of `items` items of `shape`.

    Layers inside the layer do not count.
    """
    return sum(math.prod(weight.shape) for weight in layer.weights(shape).values())


@weights_read.register
def _of_embedding(layer: Embedding, shape: Shape, items: int) -> int:
    """Count the vectors of the tokens, each at most once, of the positions and of segment 0, if there are segments."""
    return (min(items * shape[0], layer.vocabulary) + shape[0] + bool(layer.segments)) * layer.width


def total_moved(layers: Layers, shape: Shape, training: bool) -> int:
    """Return how many numbers, without weights, one forward pass of one item through `layers` reads and writes."""
    total = 0
    for layer in layers:
        total += moved(layer, shape, training)
        shape = layer.output(shape)
    return total


def total_weights_read(layers: Layers, shape: Shape, items: int) -> int:
    """Return how many trainable numbers one forward pass of `items` items through `layers` reads."""
    total = 0
    for layer in layers:
        total += weights_read(layer, shape, items)
        total += sum(total_weights_read(body, shape, items) for body in bodies(layer))
        shape = layer.output(shape)
    return total
