"""Matrix products, convolutions and recurrent layers of ONNX and of ONNX Runtime (com.microsoft)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hpcbench.predict.aten.call import Call, Work
from hpcbench.predict.aten.converter import Converter
from hpcbench.predict.aten.convolutions import CHANNELS_FIRST, CHANNELS_LAST
from hpcbench.predict.aten.products import product
from hpcbench.predict.onnx.node import attribute, read, written
from hpcbench.predict.tables import operators as table

_PRODUCTS = (
    *("MatMul", "Gemm", "FusedMatMul", "FusedGemm", "MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul"),
    "GemmFloat8",
)
_CELLS = {"LSTM": ("lstm", 4), "GRU": ("gru", 3), "RNN": ("rnn", 1)}


def _matrix_product(place: int = 1) -> Converter:
    """Return the converter of a product: of matrices if input number `place` is one, otherwise of batches of them."""

    def converted(call: Call) -> list[Work]:
        first, second, output = read(call, 0), read(call, place), written(call)
        depth = first.shape[-2] if attribute(call, "transA") and len(first.shape) > 1 else first.shape[-1]
        if len(second.shape) <= 2:
            n = output.shape[-1] if len(second.shape) == 2 else 1
            return [product(1, output.elements // n, n, depth)]
        m, n = output.shape[-2:]
        return [product(math.prod(output.shape[:-2]), m, n, depth, "bmm", table.BATCHED_GEMM)]

    return converted


def _convolution(place: int) -> Converter:
    """Return the converter of a convolution whose kernel, (filters, channels / groups, ...), is an input."""

    def converted(call: Call) -> list[Work]:
        kernel, output, groups = read(call, place).shape, written(call), attribute(call, "group", 1)
        pixels = output.elements // output.shape[1]
        work = product(groups, pixels, kernel[0] // groups, math.prod(kernel[1:]))
        return [{**work, "kind": table.CONV, **_geometry(call, kernel[2:])}]

    return converted


def _transposed(call: Call) -> list[Work]:
    """Return a transposed convolution, the input gradient of the convolution that it inverts."""
    inputs, kernel, groups = read(call, 0), read(call, 1).shape, attribute(call, "group", 1)
    outputs = written(call)
    pixels = outputs.elements // outputs.shape[1]
    macs = inputs.elements * math.prod(kernel[1:]) / groups
    work = product(groups, pixels, kernel[1], macs / (pixels * kernel[1]))
    return [{**work, "kind": table.CONV_INPUT_GRADIENT, **_geometry(call, kernel[2:])}]


def _geometry(call: Call, kernel: tuple[int, ...]) -> Work:
    dimensions = len(kernel)
    strides = attribute(call, "strides") or [1]
    sizes = {"kernel": math.prod(kernel) ** (1 / dimensions), "stride": math.prod(strides) ** (1 / dimensions)}
    return {"function": f"conv{dimensions}d", "layout": CHANNELS_FIRST, **sizes}


def _recurrent(call: Call) -> list[Work]:
    """Return a row per direction: inputs (time, batch, width), kernels (directions, gates x hidden, width)."""
    (steps, batch, width), kernel = read(call, 0).shape, read(call, 1).shape
    if attribute(call, "layout"):
        steps, batch = batch, steps
    name, gates = _CELLS[call.name]
    directions, rows, _ = kernel
    hidden = rows // gates
    sizes = {"batch": batch, "rows": steps, "m": batch, "n": rows, "k": width + hidden, "columns": hidden}
    flops = 2.0 * steps * batch * rows * (width + hidden)
    work = {"kind": table.RNN, "function": name, **sizes, "flops": flops, "bytes": call.bytes / directions}
    return [work] * directions


def _einsum(call: Call) -> list[Work]:
    """Return an Einsum of two tensors as a product of batches of matrices. Raise ValueError for more tensors."""
    terms, output = attribute(call, "equation").replace(" ", "").split("->")
    first, second = terms.split(",")
    shapes = (read(call, 0).shape, read(call, 1).shape)
    if len(set(first)) != len(first) or len(set(second)) != len(second):
        raise ValueError("an ellipsis, or a diagonal")
    terms_of = zip((first, second), shapes, strict=True)
    sizes = {letter: size for term, shape in terms_of for letter, size in zip(term, shape, strict=True)}

    def elements(letters: set[str]) -> int:
        return math.prod(sizes[letter] for letter in letters)

    left, right, kept = set(first), set(second), set(output)
    batch, depth = elements(left & right & kept), elements((left | right) - kept)
    m, n = elements(left & kept - right), elements(right & kept - left)
    return [_products(batch, m, n, depth)]


def _products(batch: int, m: int, n: int, k: int) -> Work:
    return product(batch, m, n, k, "bmm", table.BATCHED_GEMM) if batch > 1 else product(1, m, n, k)


def _of_blocks(call: Call) -> list[Work]:
    """Return the product with a matrix of few bits, whose size the attributes have."""
    n, k = int(attribute(call, "N")), int(attribute(call, "K"))
    return [product(1, read(call, 0).elements // k, n, k)]


def _last_channels(call: Call) -> list[Work]:
    """Return a convolution of ONNX Runtime on images whose channels are the last dimension."""
    kernel, output, groups = read(call, 1).shape, written(call), attribute(call, "group", 1)
    work = product(groups, output.elements // output.shape[-1], kernel[0] // groups, math.prod(kernel[1:]))
    geometry = _geometry(call, tuple(attribute(call, "kernel_shape") or kernel[2:]))
    return [{**work, "kind": table.CONV, **geometry, "layout": CHANNELS_LAST}]


CONVERTERS: Mapping[str, Converter] = {
    **dict.fromkeys(_PRODUCTS, _matrix_product()),
    **dict.fromkeys(("QLinearMatMul", "QGemm"), _matrix_product(3)),
    **dict.fromkeys(("MatMulNBits", "MatMulBnb4"), _of_blocks),
    "Einsum": _einsum,
    **dict.fromkeys(("Conv", "FusedConv", "ConvInteger"), _convolution(1)),
    "QLinearConv": _convolution(3),
    **dict.fromkeys(("NhwcConv", "NhwcFusedConv"), _last_channels),
    "ConvTranspose": _transposed,
    **dict.fromkeys(_CELLS, _recurrent),
}
