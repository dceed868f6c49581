"""PyTorch's fused self-attention and encoder layer, which it calls in inference: the operators inside them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from hpcbench.predict.aten.attention import attention
from hpcbench.predict.aten.call import Call, Work
from hpcbench.predict.aten.converter import Converter
from hpcbench.predict.aten.products import product
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.element_bytes import element_bytes


def _self_attention(call: Call) -> list[Work]:
    inputs = call.tensor("query", "src")
    batch, time, width = inputs.shape
    heads = int(call.arguments.get("num_head", call.arguments.get("num_heads", 0)))
    size = element_bytes(inputs.dtype)
    rows = batch * time
    return [
        _linear(rows, 3 * width, width, size),
        {**attention(batch, heads, time, time, width // heads), "bytes": 4.0 * rows * width * size},
        _linear(rows, width, width, size),
    ]


def _encoder_layer(call: Call) -> list[Work]:
    """Return self-attention, two sums with their layer norms, and the feed-forward products."""
    inputs, wide = call.tensor("src"), call.tensor("ffn_weight_1").shape[0]
    rows, width, size = math.prod(inputs.shape[:-1]), inputs.shape[-1], element_bytes(inputs.dtype)
    function = "gelu" if call.arguments.get("use_gelu") else "relu"
    around = [_row_wise(table.POINTWISE, "add", rows, width, 2, size)] * 2
    around += [_row_wise(table.LAYER_NORM, "layer_norm", rows, width, 1, size)] * 2
    inner = [
        _linear(rows, wide, width, size),
        _row_wise(table.POINTWISE, function, rows, wide, 1, size),
        _linear(rows, width, wide, size),
    ]
    return [*_self_attention(call), *around, *inner]


def _linear(m: int, n: int, k: int, size: int) -> Work:
    return {**product(1, m, n, k), "bytes": float(size * (m * k + n * k + m * n))}


def _row_wise(kind: str, function: str, rows: int, columns: int, inputs: int, size: int) -> Work:
    elements = rows * columns
    moved = float(size * (inputs + 1) * elements)
    sizes = {"rows": rows, "columns": columns, "inputs": inputs, "flops": float(elements), "bytes": moved}
    return {"kind": kind, "function": function, **sizes}


CONVERTERS: Mapping[str, Converter] = {
    "_native_multi_head_attention": _self_attention,
    "_transformer_encoder_layer_fwd": _encoder_layer,
}
