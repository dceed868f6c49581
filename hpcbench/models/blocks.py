"""Blocks of layers: sums, branches and encoder layers; and functions of chains of layers, with blocks inside."""

import math
from dataclasses import dataclass
from typing import Tuple

from .layers import Attention, Dense, Dropout, Gelu, Layer, LayerNorm, Layers, Shape


@dataclass(frozen=True)
class Residual(Layer):
    """The sum of `body` and `shortcut`. With an empty shortcut, the input is added to `body`."""

    body: Tuple[Layer, ...]
    shortcut: Tuple[Layer, ...] = ()

    def output(self, shape: Shape) -> Shape:
        """Return the shape of the output of `body` for one item of `shape`."""
        return output_shape(self.body, shape)

    def flops(self, shape: Shape) -> int:
        return total_flops(self.body, shape) + total_flops(self.shortcut, shape)


@dataclass(frozen=True)
class Branches(Layer):
    """Several chains of layers with the same input; their output channels are concatenated."""

    bodies: Tuple[Tuple[Layer, ...], ...]

    def output(self, shape: Shape) -> Shape:
        """Return the shape with the channels of all bodies added, for one item of `shape`."""
        shapes = [output_shape(body, shape) for body in self.bodies]
        return (sum(each[0] for each in shapes), *shapes[0][1:])

    def flops(self, shape: Shape) -> int:
        return sum(total_flops(body, shape) for body in self.bodies)


@dataclass(frozen=True)
class EncoderLayer(Layer):
    """One layer of BERT's encoder, with normalization after the sums. `parts` are the layers that it consists of."""

    width: int
    heads: int
    feed_forward: int
    dropout: float

    @property
    def parts(self) -> Tuple[Layer, ...]:
        """Return the layers that the encoder layer consists of, in order."""
        drop = Dropout(self.dropout)
        feed_forward = (Dense(self.feed_forward, gain=1.0), Gelu(), drop, Dense(self.width, gain=1.0), drop)
        attention = Residual((Attention(self.heads, self.dropout), drop))
        return (attention, LayerNorm(), Residual(feed_forward), LayerNorm())

    def flops(self, shape: Shape) -> int:
        return total_flops(self.parts, shape)


def bodies(block: Layer) -> Tuple[Tuple[Layer, ...], ...]:
    """Return the layers inside a block, as chains that start at the input of the block.

    Return () for any other layer.
    """
    if isinstance(block, Residual):
        return (block.body, block.shortcut)
    if isinstance(block, Branches):
        return block.bodies
    return (block.parts,) if isinstance(block, EncoderLayer) else ()


def output_shape(layers: Layers, shape: Shape) -> Shape:
    """Return the shape of one item after all of `layers`. Raise ValueError if a layer cannot take its input."""
    for layer in layers:
        shape = layer.output(shape)
    return shape


def total_flops(layers: Layers, shape: Shape) -> int:
    """Return the FLOPs of one forward pass of one item through all of `layers`."""
    total = 0
    for layer in layers:
        total += layer.flops(shape)
        shape = layer.output(shape)
    return total


def parameter_count(layers: Layers, shape: Shape) -> int:
    """Return the number of trainable parameters of all of `layers`."""
    total = 0
    for layer in layers:
        total += sum(math.prod(weight.shape) for weight in layer.weights(shape).values())
        total += sum(parameter_count(body, shape) for body in bodies(layer))
        shape = layer.output(shape)
    return total
