"""How many numbers the layers of a model must at least read and write: the other side of their operations.

Each layer reads its input and its weights once and writes its output once. Nothing is kept in a cache from one layer to
the next, and within a layer everything is.
"""

import math
from functools import singledispatch

from .layers import (
    Attention,
    Branches,
    Dropout,
    Embedding,
    EncoderLayer,
    Flatten,
    Layer,
    Layers,
    Lstm,
    Residual,
    Shape,
    TakeStep,
    bodies,
)


@singledispatch
def moved(layer: Layer, shape: Shape, training: bool) -> int:
    """Numbers that a layer reads and writes for one item of `shape` in a forward pass, beside its weights."""
    return math.prod(shape) + math.prod(layer.output(shape))


@moved.register
def _of_flatten(layer: Flatten, shape: Shape, training: bool) -> int:
    return 0  # another view of the same numbers


@moved.register
def _of_step(layer: TakeStep, shape: Shape, training: bool) -> int:
    return 0  # a view of a part


@moved.register
def _of_dropout(layer: Dropout, shape: Shape, training: bool) -> int:
    return 2 * math.prod(shape) if training else 0


@moved.register
def _of_lstm(layer: Lstm, shape: Shape, training: bool) -> int:
    """Each layer of the stack reads and writes a sequence; states and weights stay in a cache from step to step."""
    inputs = sum(layer.inputs(shape, number) for number in range(layer.layers))
    return shape[0] * (inputs + layer.layers * layer.hidden * layer.directions)


@moved.register
def _of_attention(layer: Attention, shape: Shape, training: bool) -> int:
    """Four products from one array to another, one of two arrays to scores of (heads, time, time), a softmax of these,
    in training their dropout, and the sums that they weigh."""
    time, width = shape
    return 12 * time * width + (6 if training else 4) * layer.heads * time * time


@moved.register
def _of_residual(layer: Residual, shape: Shape, training: bool) -> int:
    return _inside(layer, shape, training) + 3 * math.prod(layer.output(shape))  # the sum of two


@moved.register
def _of_branches(layer: Branches, shape: Shape, training: bool) -> int:
    return _inside(layer, shape, training) + 2 * math.prod(layer.output(shape))  # joining copies


@moved.register
def _of_encoder(layer: EncoderLayer, shape: Shape, training: bool) -> int:
    return _inside(layer, shape, training)


def _inside(block: Layer, shape: Shape, training: bool) -> int:
    return sum(total_moved(body, shape, training) for body in bodies(block))


@singledispatch
def weights_read(layer: Layer, shape: Shape, items: int) -> int:
    """Trainable numbers that a layer reads in a forward pass of so many items of `shape`, without those of layers
    inside it."""
    return sum(math.prod(weight.shape) for weight in layer.weights(shape).values())


@weights_read.register
def _of_embedding(layer: Embedding, shape: Shape, items: int) -> int:
    """The vectors of the tokens, none more than once, of the positions and of segment 0."""
    return (min(items * shape[0], layer.vocabulary) + shape[0] + 1) * layer.width


def total_moved(layers: Layers, shape: Shape, training: bool) -> int:
    """Numbers beside the weights that one forward pass of one item reads and writes."""
    total = 0
    for layer in layers:
        total += moved(layer, shape, training)
        shape = layer.output(shape)
    return total


def total_weights_read(layers: Layers, shape: Shape, items: int) -> int:
    """Trainable numbers that one forward pass of so many items reads."""
    total = 0
    for layer in layers:
        total += weights_read(layer, shape, items)
        total += sum(total_weights_read(body, shape, items) for body in bodies(layer))
        shape = layer.output(shape)
    return total
