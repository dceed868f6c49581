"""Fused attention: `batch`, `rows` queries, `columns` keys, `heads`, `kv_heads`, `head_dim`.

The FLOPs are those of the two products of queries with keys and of scores with values, 4 x batch x heads x queries x
keys x head_dim; a causal mask halves them. The backward pass has five products, 2.5 times the FLOPs (Dao,
"FlashAttention-2", 2023, section 4.1).
"""

from __future__ import annotations

from collections.abc import Mapping

from hpcbench.predict.aten.call import Call, Work
from hpcbench.predict.aten.converter import Converter
from hpcbench.predict.tables import operators as table

_BACKWARD_PRODUCTS = 2.5
_NAMES = (
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_fused_attention_overrideable",
    "_scaled_dot_product_attention_math",
)


def attention(batch: int, heads: int, queries: int, keys: int, head_dim: int, kv_heads: int = 0) -> Work:
    """Return the columns of attention without a mask."""
    return {
        "kind": table.ATTENTION_DECODE if queries == 1 else table.ATTENTION,
        "function": "attention",
        "batch": batch,
        "rows": queries,
        "columns": keys,
        "heads": heads,
        "kv_heads": kv_heads or heads,
        "head_dim": head_dim,
        "flops": 4.0 * batch * heads * queries * keys * head_dim,
    }


def _forward(call: Call) -> list[Work]:
    query, key = call.tensor("query"), call.tensor("key")
    batch, heads, queries, head_dim = query.shape
    work = attention(batch, heads, queries, key.shape[2], head_dim, key.shape[1])
    causal = bool(call.arguments.get("is_causal", False))
    return [{**work, "flops": work["flops"] / (2 if causal else 1)}]


def _backward(call: Call) -> list[Work]:
    (work,) = _forward(call)
    return [{**work, "function": "attention_backward", "flops": work["flops"] * _BACKWARD_PRODUCTS}]


CONVERTERS: Mapping[str, Converter] = {
    **dict.fromkeys(_NAMES, _forward),
    **dict.fromkeys((f"{name}_backward" for name in _NAMES), _backward),
}
