"""Matrix products, convolutions, recurrent layers and attention of ONNX and of ONNX Runtime (com.microsoft)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hpcbench.predict.aten.attention import attention
from hpcbench.predict.aten.call import Call, Work
from hpcbench.predict.aten.converter import Converter
from hpcbench.predict.aten.convolutions import CHANNELS_FIRST
from hpcbench.predict.aten.products import product
from hpcbench.predict.onnx.node import attribute, read, written
from hpcbench.predict.tables import operators as table

_CELLS = {"LSTM": ("lstm", 4), "GRU": ("gru", 3), "RNN": ("rnn", 1)}


def _matrix_product(call: Call) -> list[Work]:
    """Return a product: of matrices if the second factor is one, otherwise of batches of matrices."""
    first, second, output = read(call, 0), read(call, 1), written(call)
    depth = first.shape[-2] if attribute(call, "transA") and len(first.shape) > 1 else first.shape[-1]
    if len(second.shape) <= 2:
        n = output.shape[-1] if len(second.shape) == 2 else 1
        return [product(1, output.elements // n, n, depth)]
    m, n = output.shape[-2:]
    return [product(math.prod(output.shape[:-2]), m, n, depth, "bmm", table.BATCHED_GEMM)]


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


def _attention(call: Call) -> list[Work]:
    """Return attention of query and key: (batch, time, width), or (batch, heads, time, width of a head)."""
    query, key = read(call, 0).shape, read(call, 1).shape
    if len(query) == 4:
        batch, heads, queries, head_dim = query
        return [attention(batch, heads, queries, key[2], head_dim, key[1])]
    heads = int(attribute(call, "num_heads") or attribute(call, "q_num_heads"))
    kv_heads = int(attribute(call, "kv_num_heads") or heads)
    batch, queries, width = query
    return [attention(batch, heads, queries, key[1], width // heads, kv_heads)]


CONVERTERS: Mapping[str, Converter] = {
    **dict.fromkeys(("MatMul", "Gemm", "FusedMatMul", "FusedGemm", "MatMulInteger", "QLinearMatMul"), _matrix_product),
    **dict.fromkeys(("Conv", "FusedConv", "ConvInteger"), _convolution(1)),
    "QLinearConv": _convolution(3),
    "ConvTranspose": _transposed,
    **dict.fromkeys(_CELLS, _recurrent),
    **dict.fromkeys(("Attention", "MultiHeadAttention", "GroupQueryAttention"), _attention),
}
