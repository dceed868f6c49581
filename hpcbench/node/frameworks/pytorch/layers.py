"""The layers as PyTorch modules. torchvision is not used: it does not import with a CPU-only PyTorch."""

from typing import Any, Callable, Dict, Type

import numpy
import torch
from torch import nn

from ....models import blocks, layers
from ....models.initial_weights import InitialWeights
from ....models.layers import Layer, Layers, Shape

Arrays = Dict[str, numpy.ndarray]


def sequential(chain: Layers, shape: Shape, weights: InitialWeights) -> nn.Sequential:
    """Return the modules of `chain`, which takes items of `shape`, with their initial weights."""
    modules = nn.Sequential()
    for layer in chain:
        modules.append(_module(layer, shape, weights))
        shape = layer.output(shape)
    return modules


def _module(layer: Layer, shape: Shape, weights: InitialWeights) -> nn.Module:
    if isinstance(layer, blocks.Residual):
        return Residual(sequential(layer.body, shape, weights), sequential(layer.shortcut, shape, weights))
    if isinstance(layer, blocks.Branches):
        return Branches([sequential(body, shape, weights) for body in layer.bodies])
    if isinstance(layer, blocks.EncoderLayer):
        return _encoder_layer(layer, shape, weights)
    return _BUILDERS[type(layer)](layer, shape, weights.of(layer, shape))


class Residual(nn.Module):
    """The sum of body and shortcut; without a shortcut, of body and input."""

    def __init__(self, body: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.body = body
        self.shortcut = shortcut

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        """Return body + shortcut, of the shape of the body's output."""
        return self.body(batch) + self.shortcut(batch)


class Branches(nn.ModuleList):
    """Several chains with the same input."""

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the channels of all chains, concatenated."""
        return torch.cat([body(batch) for body in self], 1)


class Lstm(nn.Module):
    """PyTorch's LSTM. Of its two biases per gate, the second stays at zero and is not trained."""

    def __init__(self, layer: layers.Lstm, shape: Shape, arrays: Arrays) -> None:
        super().__init__()
        self.cells = nn.LSTM(shape[-1], layer.hidden, layer.layers, batch_first=True, bidirectional=layer.bidirectional)
        for depth in range(layer.layers):
            for direction in range(layer.directions):
                place, own = "%d_%d" % (depth, direction), "l%d%s" % (depth, "_reverse" if direction else "")
                _set(getattr(self.cells, "weight_ih_" + own), arrays["input_kernel_" + place])
                _set(getattr(self.cells, "weight_hh_" + own), arrays["hidden_kernel_" + place])
                _set(getattr(self.cells, "bias_ih_" + own), arrays["bias_" + place])
                nn.init.zeros_(getattr(self.cells, "bias_hh_" + own)).requires_grad_(False)

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        """Return (batch, time, hidden * directions) for (batch, time, features)."""
        output: torch.Tensor = self.cells(batch)[0]
        return output


class Attention(nn.MultiheadAttention):
    """Multi-head self-attention."""

    def __init__(self, layer: layers.Attention, shape: Shape, arrays: Arrays) -> None:
        super().__init__(shape[-1], layer.heads, layer.dropout, batch_first=True)
        mask = nn.Transformer.generate_square_subsequent_mask(shape[0]) if layer.causal else None
        self.register_buffer("mask", mask, persistent=False)
        _set_attention(self, arrays)

    def forward(self, batch: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        """Return (batch, time, width) for a batch of that shape."""
        mask: Any = self.mask
        causal = mask is not None
        return super().forward(batch, batch, batch, need_weights=False, attn_mask=mask, is_causal=causal)[0]


class Embedding(nn.Module):
    """The sum of the vectors of token, position and segment 0."""

    def __init__(self, layer: layers.Embedding, shape: Shape, arrays: Arrays) -> None:
        super().__init__()
        self.tokens = nn.Embedding(layer.vocabulary, layer.width)
        self.positions = nn.Embedding(layer.positions, layer.width)
        if layer.segments:
            self.segments = nn.Embedding(layer.segments, layer.width)
        for name, table in self.named_children():
            _set(table.weight, arrays[name])  # type: ignore[arg-type]
        self.register_buffer("order", torch.arange(shape[0]), persistent=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Return (batch, time, width) for tokens (batch, time)."""
        vectors: torch.Tensor = self.tokens(tokens) + self.positions(self.order)
        return vectors + self.segments.weight[0] if hasattr(self, "segments") else vectors


class TakeStep(nn.Module):
    """One time step of a sequence."""

    def __init__(self, index: int) -> None:
        super().__init__()
        self.index = index

    def forward(self, batch: torch.Tensor) -> torch.Tensor:
        """Return (batch, features) for (batch, time, features)."""
        return batch[:, self.index]


def _encoder_layer(layer: blocks.EncoderLayer, shape: Shape, weights: InitialWeights) -> nn.TransformerEncoderLayer:
    """Return PyTorch's own encoder layer, which is equivalent to the parts of `layer`."""
    module = nn.TransformerEncoderLayer(
        layer.width,
        layer.heads,
        dim_feedforward=layer.feed_forward,
        dropout=layer.dropout,
        activation="gelu",
        layer_norm_eps=layers.LayerNorm.epsilon,
        batch_first=True,
    )
    attention_sum, first_norm, feed_forward_sum, second_norm = layer.parts
    _set_attention(module.self_attn, weights.of(blocks.bodies(attention_sum)[0][0], shape))
    _set_norm(module.norm1, weights.of(first_norm, shape))
    wide, _, _, narrow, _ = blocks.bodies(feed_forward_sum)[0]
    _set_dense(module.linear1, weights.of(wide, shape))
    _set_dense(module.linear2, weights.of(narrow, wide.output(shape)))
    _set_norm(module.norm2, weights.of(second_norm, shape))
    return module


def _dense(layer: layers.Dense, shape: Shape, arrays: Arrays) -> nn.Module:
    return _set_dense(nn.utils.skip_init(nn.Linear, shape[-1], layer.outputs, bias=layer.bias), arrays)


def _conv(layer: layers.Conv, shape: Shape, arrays: Arrays) -> nn.Module:
    convolution = nn.utils.skip_init(
        nn.Conv2d, shape[0], layer.filters, layer.kernel, layer.stride, layer.padding, bias=layer.bias
    )
    return _set_dense(convolution, arrays)


def _batch_norm(layer: layers.BatchNorm, shape: Shape, arrays: Arrays) -> nn.Module:
    return _set_norm(nn.BatchNorm2d(shape[0], layer.epsilon), arrays)


def _layer_norm(layer: layers.LayerNorm, shape: Shape, arrays: Arrays) -> nn.Module:
    return _set_norm(nn.LayerNorm(shape[-1], layer.epsilon), arrays)


def _max_pool(layer: layers.MaxPool, shape: Shape, arrays: Arrays) -> nn.Module:
    if layer.is_over_whole(shape):
        # Equivalent, and torch.compile up to at least 2.13 loses the gradient of the other: pytorch issue 185509.
        return nn.AdaptiveMaxPool2d(1)
    return nn.MaxPool2d(layer.kernel, layer.stride, layer.padding)


def _global_average(layer: Layer, shape: Shape, arrays: Arrays) -> nn.Module:
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())


_BUILDERS: Dict[Type[Layer], Callable[[Any, Shape, Arrays], nn.Module]] = {
    layers.Dense: _dense,
    layers.Conv: _conv,
    layers.BatchNorm: _batch_norm,
    layers.LayerNorm: _layer_norm,
    layers.Lstm: Lstm,
    layers.Attention: Attention,
    layers.Embedding: Embedding,
    layers.MaxPool: _max_pool,
    layers.GlobalAvgPool: _global_average,
    layers.Relu: lambda layer, shape, arrays: nn.ReLU(),
    layers.Gelu: lambda layer, shape, arrays: nn.GELU(),
    layers.Tanh: lambda layer, shape, arrays: nn.Tanh(),
    layers.Dropout: lambda layer, shape, arrays: nn.Dropout(layer.rate),
    layers.AvgPool: lambda layer, shape, arrays: nn.AvgPool2d(layer.kernel, layer.stride, layer.padding),
    layers.Flatten: lambda layer, shape, arrays: nn.Flatten(),
    layers.TakeStep: lambda layer, shape, arrays: TakeStep(layer.index),
}


def _set_dense(module: Any, arrays: Arrays) -> nn.Module:
    _set(module.weight, arrays["kernel"])
    if "bias" in arrays:
        _set(module.bias, arrays["bias"])
    return module


def _set_attention(module: Any, arrays: Arrays) -> None:
    names = ("query", "key", "value")
    _set(module.in_proj_weight, numpy.concatenate([arrays[name + "_kernel"] for name in names]))
    _set(module.in_proj_bias, numpy.concatenate([arrays[name + "_bias"] for name in names]))
    _set(module.out_proj.weight, arrays["result_kernel"])
    _set(module.out_proj.bias, arrays["result_bias"])


def _set_norm(module: Any, arrays: Arrays) -> nn.Module:
    _set(module.weight, arrays["scale"])
    _set(module.bias, arrays["offset"])
    return module


def _set(parameter: torch.Tensor, array: numpy.ndarray) -> None:
    with torch.no_grad():
        parameter.copy_(torch.from_numpy(array))
