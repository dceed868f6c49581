"""Convolutions as products, and their gradients as products of their own.

m = images x output pixels, n = output channels, k = input channels x kernel elements, all of one group; `batch` is the
number of groups (Chetlur et al., "cuDNN: efficient primitives for deep learning", 2014, section 3.1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from hpcbench.predict.aten.call import Call, Tensor, Work
from hpcbench.predict.aten.converter import Converter
from hpcbench.predict.aten.products import product
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.element_bytes import element_bytes

CHANNELS_LAST, CHANNELS_FIRST = "channels_last", "channels_first"


@dataclass(frozen=True)
class _Convolution:
    """The sizes of one group of a convolution. A transposed one is described by the convolution that it inverts."""

    groups: int
    inputs: int  # channels
    outputs: int
    input_pixels: int  # with images
    output_pixels: int
    kernel: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def taps(self) -> int:
        return math.prod(self.kernel)

    @property
    def macs(self) -> int:
        """Return the MACs of one group, in the forward pass and for each gradient."""
        return self.output_pixels * self.outputs * self.inputs * self.taps


def _forward(call: Call) -> list[Work]:
    inputs, weight = call.tensor("input", "self"), call.tensor("weight")
    transposed = bool(call.arguments.get("transposed", False))
    of = _sizes(call, inputs, weight, transposed)
    work = _input_gradient(of) if transposed else product(of.groups, of.output_pixels, of.outputs, of.inputs * of.taps)
    kind = table.CONV_INPUT_GRADIENT if transposed else table.CONV
    return [{**work, **_common(of, inputs), "kind": kind}]


def _backward(call: Call) -> list[Work]:
    """Return the gradients that `output_mask` requests: of the input, and of the weights. That of the bias is free."""
    inputs, weight, gradient = call.tensor("input", "self"), call.tensor("weight"), call.tensor("grad_output")
    transposed = bool(call.arguments.get("transposed", False))
    of = _sizes(call, inputs, weight, transposed)
    of_input, of_weight, *_ = call.arguments["output_mask"]
    found: list[Work] = []
    if of_input:
        work = product(of.groups, of.output_pixels, of.outputs, of.inputs * of.taps)
        work = work if transposed else _input_gradient(of)
        found.append({**work, "kind": table.CONV if transposed else table.CONV_INPUT_GRADIENT})
    if of_weight:
        work = product(of.groups, of.outputs, of.inputs * of.taps, of.output_pixels)
        found.append({**work, "kind": table.CONV_WEIGHT_GRADIENT})
    moved = (inputs.elements + weight.elements + gradient.elements) * element_bytes(inputs.dtype)
    return [{**work, **_common(of, inputs), "bytes": float(moved)} for work in found]


def _input_gradient(of: _Convolution) -> Work:
    """Return the product that computes the gradient of the input; k is smaller than the taps if the stride is not 1."""
    return product(of.groups, of.input_pixels, of.inputs, of.macs / (of.input_pixels * of.inputs))


def _common(of: _Convolution, inputs: Tensor) -> Work:
    dimensions = len(of.kernel)
    return {
        "function": f"conv{dimensions}d",
        "kernel": of.taps ** (1 / dimensions),
        "stride": math.prod(of.strides) ** (1 / dimensions),
        "layout": _layout(inputs),
    }


def _layout(tensor: Tensor) -> str:
    """Return the layout of images with several channels; that of a single channel is both."""
    is_last = len(tensor.strides) > 2 and tensor.strides[1] == 1 and tensor.shape[1] > 1
    return CHANNELS_LAST if is_last else CHANNELS_FIRST


def _sizes(call: Call, inputs: Tensor, weight: Tensor, transposed: bool) -> _Convolution:
    kernel = weight.shape[2:]
    groups = int(call.arguments["groups"])
    strides = _each(call.integers("stride"), kernel)
    paddings, dilations = _each(call.integers("padding"), kernel), _each(call.integers("dilation"), kernel)
    pixels = inputs.shape[-len(kernel) :]
    images = inputs.shape[0] if len(inputs.shape) == len(kernel) + 2 else 1
    spans = [dilation * (size - 1) for dilation, size in zip(dilations, kernel, strict=True)]
    places = zip(pixels, strides, paddings, spans, strict=True)
    if transposed:  # of the convolution that it inverts, whose output is the input of the call
        more = _each(call.integers("output_padding"), kernel)
        sizes = [(size - 1) * stride - 2 * padding + span + 1 for size, stride, padding, span in places]
        large = math.prod(size + extra for size, extra in zip(sizes, more, strict=True))
        small = math.prod(pixels)
    else:
        large = math.prod(pixels)
        small = math.prod((size + 2 * padding - span - 1) // stride + 1 for size, stride, padding, span in places)
    channels = (weight.shape[1], weight.shape[0] // groups)
    return _Convolution(groups, *channels, images * large, images * small, kernel, strides)


def _each(values: tuple[int, ...], kernel: tuple[int, ...]) -> tuple[int, ...]:
    """Return one value for each dimension of the kernel."""
    return values * len(kernel) if len(values) == 1 else values


_NAMES = (
    "convolution",
    "_convolution",
    "convolution_overrideable",
    "cudnn_convolution",
    "miopen_convolution",
    "mkldnn_convolution",
)
CONVERTERS: Mapping[str, Converter] = {
    **dict.fromkeys(_NAMES, _forward),
    **dict.fromkeys((f"{name}_backward" for name in _NAMES), _backward),
}
