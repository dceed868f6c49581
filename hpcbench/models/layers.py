"""The layers of the models, as data: the output shape, weights and FLOPs of each.

Shapes are for one item, in one order for all frameworks: (channels, height, width), (time, features) or (features,).
FLOPs are counted for matrix products and convolutions only (1 MAC = 2 FLOPs).
"""

import math
from dataclasses import dataclass
from typing import Dict, NamedTuple, Sequence, Tuple

Shape = Tuple[int, ...]
Pair = Tuple[int, int]


class Weight(NamedTuple):
    """A trainable array with initial values uniform in `center` +- `spread`."""

    shape: Shape
    spread: float
    center: float = 0.0


class Layer:
    """A layer whose output has the shape of its input, without weights and FLOPs. Subclasses override this."""

    def output(self, shape: Shape) -> Shape:
        """Return the shape of the output for one item of `shape`.

        Raise ValueError if the layer cannot take that input.
        """
        return shape

    def weights(self, shape: Shape) -> Dict[str, Weight]:
        """Return the trainable arrays by name, for an input of `shape`."""
        return {}

    def flops(self, shape: Shape) -> int:
        """Return the FLOPs of a forward pass of one item of `shape`."""
        return 0


Layers = Sequence[Layer]


@dataclass(frozen=True)
class Dense(Layer):
    """A matrix product over the last dimension: `kernel` is (outputs, inputs).

    `gain` 2 preserves the variance through a ReLU (He et al., 2015, "Delving deep into rectifiers"), 1 without a ReLU.
    """

    outputs: int
    gain: float = 2.0
    bias: bool = True

    def output(self, shape: Shape) -> Shape:
        """Return `shape` with the last dimension replaced by `outputs`."""
        return (*shape[:-1], self.outputs)

    def weights(self, shape: Shape) -> Dict[str, Weight]:
        """Return `kernel` (outputs, inputs), and `bias` (outputs,) if the layer has one, for an input of `shape`."""
        inputs = shape[-1]
        weights = {"kernel": Weight((self.outputs, inputs), math.sqrt(3 * self.gain / inputs))}
        if self.bias:
            weights["bias"] = Weight((self.outputs,), 1 / math.sqrt(inputs))
        return weights

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
        """Return (filters, height, width) for one item of `shape`. Raise ValueError if the image is too small."""
        return (self.filters, *_windows(shape, self.kernel, self.stride, self.padding))

    def weights(self, shape: Shape) -> Dict[str, Weight]:
        """Return `kernel`, and `bias` (filters,) if the layer has one, for an input of `shape`."""
        inputs = shape[0] * self.kernel[0] * self.kernel[1]
        weights = {"kernel": Weight((self.filters, shape[0], *self.kernel), math.sqrt(6 / inputs))}
        if self.bias:
            weights["bias"] = Weight((self.filters,), 1 / math.sqrt(inputs))
        return weights

    def flops(self, shape: Shape) -> int:
        return 2 * shape[0] * self.kernel[0] * self.kernel[1] * math.prod(self.output(shape))


@dataclass(frozen=True)
class BatchNorm(Layer):
    """Batch normalization per channel. Running statistics start at mean 0 and variance 1, and move by 0.1 per step."""

    epsilon: float = 1e-5

    def weights(self, shape: Shape) -> Dict[str, Weight]:
        """Return `scale` and `offset`, both (channels,), for an input of `shape`."""
        return {"scale": Weight((shape[0],), 0.0, 1.0), "offset": Weight((shape[0],), 0.0)}


@dataclass(frozen=True)
class LayerNorm(Layer):
    """Layer normalization over the last dimension."""

    epsilon: float = 1e-12

    def weights(self, shape: Shape) -> Dict[str, Weight]:
        """Return `scale` and `offset`, both (features,), for an input of `shape`."""
        return {"scale": Weight((shape[-1],), 0.0, 1.0), "offset": Weight((shape[-1],), 0.0)}


@dataclass(frozen=True)
class Relu(Layer):
    """The activation max(x, 0)."""


@dataclass(frozen=True)
class Gelu(Layer):
    """The exact activation GELU, by the error function."""


@dataclass(frozen=True)
class Tanh(Layer):
    """The activation tanh."""


@dataclass(frozen=True)
class Dropout(Layer):
    """Dropout of values with probability `rate`, in training only."""

    rate: float


@dataclass(frozen=True)
class MaxPool(Layer):
    """The maximum over windows of (height, width). The input is never negative, so padding with zeros has no effect."""

    kernel: int
    stride: int
    padding: int = 0

    def output(self, shape: Shape) -> Shape:
        """Return (channels, height, width) for one item of `shape`. Raise ValueError if the image is too small."""
        return (shape[0], *_windows(shape, (self.kernel,) * 2, self.stride, (self.padding,) * 2))

    def is_over_whole(self, shape: Shape) -> bool:
        """Return whether the only window is the whole map."""
        return self.padding == 0 and tuple(shape[1:]) == (self.kernel, self.kernel)


@dataclass(frozen=True)
class AvgPool(Layer):
    """The mean over windows of (height, width). Zeros of the padding count as values."""

    kernel: int
    stride: int
    padding: int = 0

    def output(self, shape: Shape) -> Shape:
        """Return (channels, height, width) for one item of `shape`. Raise ValueError if the image is too small."""
        return (shape[0], *_windows(shape, (self.kernel,) * 2, self.stride, (self.padding,) * 2))


@dataclass(frozen=True)
class GlobalAvgPool(Layer):
    """The mean of each channel over (height, width)."""

    def output(self, shape: Shape) -> Shape:
        """Return (channels,) for one item of `shape`."""
        return shape[:1]


@dataclass(frozen=True)
class Flatten(Layer):
    """All dimensions joined to one, in the order (channels, height, width), whatever the order of the framework."""

    def output(self, shape: Shape) -> Shape:
        """Return (features,) for one item of `shape`."""
        return (math.prod(shape),)


@dataclass(frozen=True)
class Lstm(Layer):
    """A stacked LSTM over (time, features), gates in the order input, forget, cell, output, with one bias each.

    The weights of layer l and direction d (0 forward, 1 backward) are `input_kernel_l_d` (4 hidden, inputs),
    `hidden_kernel_l_d` (4 hidden, hidden) and `bias_l_d` (4 hidden,).
    """

    hidden: int
    layers: int
    bidirectional: bool

    @property
    def directions(self) -> int:
        """Return 2 if the LSTM is bidirectional, otherwise 1."""
        return 2 if self.bidirectional else 1

    def inputs(self, shape: Shape, layer: int) -> int:
        """Return the number of input features of layer number `layer`, for an input of `shape`."""
        return shape[-1] if layer == 0 else self.hidden * self.directions

    def output(self, shape: Shape) -> Shape:
        """Return (time, hidden * directions) for one item of `shape`."""
        return (shape[0], self.hidden * self.directions)

    def weights(self, shape: Shape) -> Dict[str, Weight]:
        """Return the kernels and biases of all layers and directions by name, for an input of `shape`."""
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
    """Token ids (time,) to vectors (time, width): the sum of the vectors of the token, its position and segment 0.

    Without `segments`, it is the sum of the vectors of the token and its position.
    """

    vocabulary: int
    positions: int
    width: int
    segments: int = 2

    def output(self, shape: Shape) -> Shape:
        """Return (time, width) for one item of `shape`. Raise ValueError if it has more tokens than positions."""
        if shape[0] > self.positions:
            raise ValueError("sequence_length is more than positions")
        return (*shape, self.width)

    def weights(self, shape: Shape) -> Dict[str, Weight]:
        """Return `tokens`, `positions` and any `segments`, each (count, width), for an input of `shape`."""
        rows = (("tokens", self.vocabulary), ("positions", self.positions), ("segments", self.segments))
        return {name: Weight((count, self.width), 0.02 * math.sqrt(3)) for name, count in rows if count}


@dataclass(frozen=True)
class Attention(Layer):
    """Multi-head self-attention over (time, width): products to query, key, value and result.

    Each kernel is (width, width), outputs first; head h owns rows [h width / heads, (h + 1) width / heads). `dropout`
    applies to the attention probabilities. If `causal`, a time step has no access to later ones. The FLOPs are those of
    the whole score matrix, also of its masked half.
    """

    heads: int
    dropout: float
    causal: bool = False

    def weights(self, shape: Shape) -> Dict[str, Weight]:
        """Return kernels (width, width) and biases (width,) by name, for an input of `shape`."""
        width, weights = shape[-1], {}
        for name in ("query", "key", "value", "result"):
            weights[name + "_kernel"] = Weight((width, width), math.sqrt(3 / width))
            weights[name + "_bias"] = Weight((width,), 1 / math.sqrt(width))
        return weights

    def flops(self, shape: Shape) -> int:
        time, width = shape
        return 4 * 2 * time * width * width + 2 * 2 * time * time * width


@dataclass(frozen=True)
class TakeStep(Layer):
    """One time step of (time, features): index 0 is the first step, -1 the last."""

    index: int

    def output(self, shape: Shape) -> Shape:
        """Return (features,) for one item of `shape`."""
        return shape[1:]


def _windows(shape: Shape, kernel: Pair, stride: int, padding: Pair) -> Pair:
    height, width = ((shape[1 + d] + 2 * padding[d] - kernel[d]) // stride + 1 for d in (0, 1))
    if min(height, width) < 1:
        raise ValueError("the image is too small for the network")
    return height, width
