"""Attention of ONNX and of ONNX Runtime (com.microsoft), with the keys of earlier time steps.

A causal mask halves the FLOPs of the queries among each other. Queries see all earlier keys.
"""

from __future__ import annotations

from collections.abc import Mapping

from hpcbench.predict.aten.attention import attention
from hpcbench.predict.aten.call import Call, Work
from hpcbench.predict.aten.converter import Converter
from hpcbench.predict.aten.products import product
from hpcbench.predict.onnx.node import attribute, optional, read
from hpcbench.predict.tables.element_bytes import element_bytes


def _attention(past: int) -> Converter:
    """Return the converter of attention whose input number `past`, (batch, heads, time, width), has earlier keys."""

    def converted(call: Call) -> list[Work]:
        query, key, earlier = read(call, 0).shape, optional(call, 1), optional(call, past)
        heads = int(attribute(call, "num_heads") or attribute(call, "q_num_heads") or query[1])
        kv_heads = int(attribute(call, "kv_num_heads") or heads)
        before = earlier.shape[2] if earlier else 0
        if len(query) == 4:  # (batch, heads, time, width of a head)
            batch, heads, queries, head_dim = query
            keys = read(call, 1).shape
            return [_masked(call, attention(batch, heads, queries, keys[2] + before, head_dim, keys[1]))]
        batch, queries = query[:2]
        if len(query) == 5:  # (batch, time, heads, query, key and value, width of a head)
            head_dim, time = query[4], queries
        elif key is None:  # queries, keys and values of all heads in one tensor
            head_dim, time = query[2] // (heads + 2 * kv_heads), queries
        else:
            head_dim, time = query[2] // heads, key.shape[2 if len(key.shape) == 4 else 1]
        return [_masked(call, attention(batch, heads, queries, time + before, head_dim, kv_heads))]

    return converted


def _projected(past: int) -> Converter:
    """Return the converter of com.microsoft's attention, which also computes query, key and value from its input.

    Input number `past`, (2, batch, heads, time, width of a head), has earlier keys and values.
    """

    def converted(call: Call) -> list[Work]:
        items, kernel, earlier = read(call, 0), read(call, 1), optional(call, past)
        (batch, time, width), columns = items.shape, kernel.shape[1]
        heads = int(attribute(call, "num_heads"))
        widths = attribute(call, "qkv_hidden_sizes") or [columns // 3] * 3
        keys = time + (earlier.shape[3] if earlier else 0)
        size, rows = element_bytes(call.dtype or items.dtype), batch * time
        projection = product(1, rows, columns, width)
        own = items.elements * element_bytes(items.dtype) + kernel.elements * element_bytes(kernel.dtype)
        work = _masked(call, attention(batch, heads, time, keys, widths[0] // heads))
        moved = size * (rows * (widths[0] + widths[2]) + batch * keys * (widths[1] + widths[2]))
        return [
            {**projection, "bytes": float(own + size * rows * columns)},
            {**work, "bytes": float(moved)},
        ]

    return converted


def _masked(call: Call, work: Work) -> Work:
    """Return the work with the FLOPs that a causal mask leaves."""
    is_causal = attribute(call, "is_causal") or attribute(call, "unidirectional") or call.name == "GroupQueryAttention"
    if not is_causal or work["rows"] == 1:
        return work
    return {**work, "flops": work["flops"] * (1 - min(work["rows"] / work["columns"], 1) / 2)}


CONVERTERS: Mapping[str, Converter] = {
    "Attention": _attention(4),
    "MultiHeadAttention": _attention(6),
    "GroupQueryAttention": _attention(3),
}
# Operators that have the name of another one of ONNX, or none there.
MICROSOFT: Mapping[str, Converter] = {"Attention": _projected(4), "QAttention": _projected(8)}
