"""The layers of which models are made, as data: what each does to a shape, its weights, and its operations.

Shapes are of one item, in one order for all frameworks: (channels, height, width), (time, features), (features,).
Operations are counted for matrix products and convolutions only, a multiplication and an addition as two.
"""

import math
from dataclasses import dataclass
from typing import Dict, NamedTuple, Sequence, Tuple

Shape = Tuple[int, ...]
Pair = Tuple[int, int]


class Weight(NamedTuple):
    """A trainable array that starts uniform in `center` +- `spread`."""

    shape: Shape
    spread: float
    center: float = 0.0


class Layer:
    """Keeps the shape, has no weights, and multiplies nothing, unless it says otherwise."""

    def output(self, shape: Shape) -> Shape:
        """The shape of its result for an input of `shape`. Raises ValueError where it cannot take that input."""
        return shape

    def weights(self, shape: Shape) -> Dict[str, Weight]:
        """Its trainable arrays by name, for an input of `shape`."""
        return {}

    def flops(self, shape: Shape) -> int:
        """Floating-point operations for one item of `shape`."""
        return 0


Layers = Sequence[Layer]


@dataclass(frozen=True)
class Dense(Layer):
    """A product over the last dimension: `kernel` is (outputs, inputs). `gain` 2 keeps the variance through a ReLU
    (He et al., 2015, "Delving deep into rectifiers"), 1 without one."""

    outputs: int
    gain: float = 2.0

    def output(self, shape: Shape) -> Shape:
        return (*shape[:-1], self.outputs)

    def weights(self, shape: Shape) -> Dict[str, Weight]:
        inputs = shape[-1]
        return {
            "kernel": Weight((self.outputs, inputs), math.sqrt(3 * self.gain / inputs)),
            "bias": Weight((self.outputs,), 1 / math.sqrt(inputs)),
        }

    def flops(self, shape: Shape) -> int:
        return 2 * math.prod(shape) * self.outputs


@dataclass(frozen=True)
class Conv(Layer):
    """A convolution over (channels, height, width): `kernel` is (filters, channels, height, width)."""

    filters: int
    kernel: Pair
    stride: int = 1
    padding: Pair = (0, 0)
    bias: bool = True

    def output(self, shape: Shape) -> Shape:
        return (self.filters, *_windows(shape, self.kernel, self.stride, self.padding))

    def weights(self, shape: Shape) -> Dict[str, Weight]:
        inputs = shape[0] * self.kernel[0] * self.kernel[1]
        weights = {"kernel": Weight((self.filters, shape[0], *self.kernel), math.sqrt(6 / inputs))}
        if self.bias:
            weights["bias"] = Weight((self.filters,), 1 / math.sqrt(inputs))
        return weights

    def flops(self, shape: Shape) -> int:
        return 2 * shape[0] * self.kernel[0] * self.kernel[1] * math.prod(self.output(shape))


@dataclass(frozen=True)
class BatchNorm(Layer):
    """Over each channel; its running statistics start at mean 0 and variance 1 and move by 0.1 a step."""

    epsilon: float = 1e-5

    def weights(self, shape: Shape) -> Dict[str, Weight]:
        return {"scale": Weight((shape[0],), 0.0, 1.0), "offset": Weight((shape[0],), 0.0)}


@dataclass(frozen=True)
class LayerNorm(Layer):
    """Over the last dimension."""

    epsilon: float = 1e-12

    def weights(self, shape: Shape) -> Dict[str, Weight]:
        return {"scale": Weight((shape[-1],), 0.0, 1.0), "offset": Weight((shape[-1],), 0.0)}


@dataclass(frozen=True)
class Relu(Layer):
    pass


@dataclass(frozen=True)
class Gelu(Layer):
    """The exact one, by the error function."""


@dataclass(frozen=True)
class Tanh(Layer):
    pass


@dataclass(frozen=True)
class Dropout(Layer):
    rate: float


@dataclass(frozen=True)
class MaxPool(Layer):
    """Its input is never negative, so that padding with zeros changes nothing."""

    kernel: int
    stride: int
    padding: int = 0

    def output(self, shape: Shape) -> Shape:
        return (shape[0], *_windows(shape, (self.kernel,) * 2, self.stride, (self.padding,) * 2))

    def is_over_whole(self, shape: Shape) -> bool:
        """Whether its one window is the whole map."""
        return self.padding == 0 and tuple(shape[1:]) == (self.kernel, self.kernel)


@dataclass(frozen=True)
class AvgPool(Layer):
    """Zeros of the padding count as values."""

    kernel: int
    stride: int
    padding: int = 0

    def output(self, shape: Shape) -> Shape:
        return (shape[0], *_windows(shape, (self.kernel,) * 2, self.stride, (self.padding,) * 2))


@dataclass(frozen=True)
class GlobalAvgPool(Layer):
    def output(self, shape: Shape) -> Shape:
        return shape[:1]


@dataclass(frozen=True)
class Flatten(Layer):
    """In the order (channels, height, width), whatever the framework's own."""

    def output(self, shape: Shape) -> Shape:
        return (math.prod(shape),)


@dataclass(frozen=True)
class Residual(Layer):
    """The sum of `body` and `shortcut`; an empty shortcut is the input itself."""

    body: Tuple[Layer, ...]
    shortcut: Tuple[Layer, ...] = ()

    def output(self, shape: Shape) -> Shape:
        return output_shape(self.body, shape)

    def flops(self, shape: Shape) -> int:
        return total_flops(self.body, shape) + total_flops(self.shortcut, shape)


@dataclass(frozen=True)
class Branches(Layer):
    """Several bodies side by side, their channels joined."""

    bodies: Tuple[Tuple[Layer, ...], ...]

    def output(self, shape: Shape) -> Shape:
        shapes = [output_shape(body, shape) for body in self.bodies]
        return (sum(each[0] for each in shapes), *shapes[0][1:])

    def flops(self, shape: Shape) -> int:
        return sum(total_flops(body, shape) for body in self.bodies)


@dataclass(frozen=True)
class Lstm(Layer):
    """Stacked LSTM over (time, features), gates in the order input, forget, cell, output, one bias for each.

    Weights of layer l and direction d (0 forward, 1 backward) are `input_kernel_l_d` (4 hidden, inputs),
    `hidden_kernel_l_d` (4 hidden, hidden) and `bias_l_d` (4 hidden,).
    """

    hidden: int
    layers: int
    bidirectional: bool

    @property
    def directions(self) -> int:
        return 2 if self.bidirectional else 1

    def inputs(self, shape: Shape, layer: int) -> int:
        """Features that come into one of its layers."""
        return shape[-1] if layer == 0 else self.hidden * self.directions

    def output(self, shape: Shape) -> Shape:
        return (shape[0], self.hidden * self.directions)

    def weights(self, shape: Shape) -> Dict[str, Weight]:
        weights, spread = {}, 1 / math.sqrt(self.hidden)
        for layer in range(self.layers):
            for direction in range(self.directions):
                place = "%d_%d" % (layer, direction)
                weights["input_kernel_" + place] = Weight((4 * self.hidden, self.inputs(shape, layer)), spread)
                weights["hidden_kernel_" + place] = Weight((4 * self.hidden, self.hidden), spread)
                weights["bias_" + place] = Weight((4 * self.hidden,), spread)
        return weights

    def flops(self, shape: Shape) -> int:
        products = [self.inputs(shape, layer) + self.hidden for layer in range(self.layers)]
        return 2 * shape[0] * self.directions * 4 * self.hidden * sum(products)


@dataclass(frozen=True)
class Embedding(Layer):
    """Token numbers (time,) to vectors (time, width): the sum of a token's, its position's and segment 0's vector."""

    vocabulary: int
    positions: int
    width: int

    def output(self, shape: Shape) -> Shape:
        if shape[0] > self.positions:
            raise ValueError("sequence_length is more than positions")
        return (*shape, self.width)

    def weights(self, shape: Shape) -> Dict[str, Weight]:
        rows = (("tokens", self.vocabulary), ("positions", self.positions), ("segments", 2))
        return {name: Weight((count, self.width), 0.02 * math.sqrt(3)) for name, count in rows}


@dataclass(frozen=True)
class Attention(Layer):
    """Self-attention of several heads over (time, width): products to query, key and value, and one of the result.

    Each kernel is (width, width), outputs first; head h owns rows [h width / heads, (h + 1) width / heads). `dropout`
    falls on the attention's probabilities.
    """

    heads: int
    dropout: float

    def weights(self, shape: Shape) -> Dict[str, Weight]:
        width, weights = shape[-1], {}
        for name in ("query", "key", "value", "result"):
            weights[name + "_kernel"] = Weight((width, width), math.sqrt(3 / width))
            weights[name + "_bias"] = Weight((width,), 1 / math.sqrt(width))
        return weights

    def flops(self, shape: Shape) -> int:
        time, width = shape
        return 4 * 2 * time * width * width + 2 * 2 * time * time * width


@dataclass(frozen=True)
class EncoderLayer(Layer):
    """One layer of BERT's encoder, the norms after the sums; `parts` say what it is made of."""

    width: int
    heads: int
    feed_forward: int
    dropout: float

    @property
    def parts(self) -> Tuple[Layer, ...]:
        drop = Dropout(self.dropout)
        feed_forward = (Dense(self.feed_forward, gain=1.0), Gelu(), drop, Dense(self.width, gain=1.0), drop)
        attention = Residual((Attention(self.heads, self.dropout), drop))
        return (attention, LayerNorm(), Residual(feed_forward), LayerNorm())

    def flops(self, shape: Shape) -> int:
        return total_flops(self.parts, shape)


@dataclass(frozen=True)
class TakeStep(Layer):
    """One time step of (time, features): 0 is the first, -1 the last."""

    index: int

    def output(self, shape: Shape) -> Shape:
        return shape[1:]


def bodies(block: Layer) -> Tuple[Tuple[Layer, ...], ...]:
    """The layers inside a block, each chain from the block's own input; none where it is no block."""
    if isinstance(block, Residual):
        return (block.body, block.shortcut)
    if isinstance(block, Branches):
        return block.bodies
    return (block.parts,) if isinstance(block, EncoderLayer) else ()


def output_shape(layers: Layers, shape: Shape) -> Shape:
    """The shape after all of `layers`."""
    for layer in layers:
        shape = layer.output(shape)
    return shape


def total_flops(layers: Layers, shape: Shape) -> int:
    """Operations of one forward pass of one item."""
    total = 0
    for layer in layers:
        total += layer.flops(shape)
        shape = layer.output(shape)
    return total


def parameter_count(layers: Layers, shape: Shape) -> int:
    """Trainable numbers in all of `layers`."""
    total = 0
    for layer in layers:
        total += sum(math.prod(weight.shape) for weight in layer.weights(shape).values())
        total += sum(parameter_count(body, shape) for body in bodies(layer))
        shape = layer.output(shape)
    return total


def _windows(shape: Shape, kernel: Pair, stride: int, padding: Pair) -> Pair:
    height, width = ((shape[1 + d] + 2 * padding[d] - kernel[d]) // stride + 1 for d in (0, 1))
    if min(height, width) < 1:
        raise ValueError("the image is too small for the network")
    return height, width
