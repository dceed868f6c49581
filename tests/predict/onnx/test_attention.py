"""Attention of ONNX and of ONNX Runtime, with numbers that are counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.predict.tables import operators as table
from tests.predict.aten.calls import tensor, work

_SIZES = ("batch", "heads", "kv_heads", "rows", "columns", "head_dim")
_OF_ALL = 4 * 2 * 8 * 16  # FLOPs for each key and element of a head, of all queries


def node(operator: str, inputs: list[Any], **attributes: Any) -> list[dict[str, Any]]:
    return work(operator, inputs=inputs, outputs=[], attributes=attributes)


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "expected"),
    [
        ("onnx.Attention", [tensor(2, 8, 16, 4), tensor(2, 2, 64, 4), tensor(2, 2, 64, 4)], {}, (2, 64)),
        ("onnx.Attention", [tensor(2, 16, 32)] * 3, {"q_num_heads": 8, "kv_num_heads": 8}, (8, 16)),
        (
            "onnx.Attention",
            [tensor(2, 16, 32), *[tensor(2, 16, 8)] * 2, None, *[tensor(2, 2, 48, 4)] * 2],
            {"q_num_heads": 8, "kv_num_heads": 2},
            (2, 64),
        ),
        ("com_microsoft.MultiHeadAttention", [tensor(2, 16, 32), *[tensor(2, 64, 32)] * 2], {"num_heads": 8}, (8, 64)),
        ("com_microsoft.MultiHeadAttention", [tensor(2, 16, 32), tensor(2, 8, 64, 4)], {"num_heads": 8}, (8, 64)),
        ("com_microsoft.MultiHeadAttention", [tensor(2, 16, 8, 3, 4)], {"num_heads": 8}, (8, 16)),
    ],
)
def test_sizes(operator: str, inputs: Any, attributes: Any, expected: tuple[int, int]) -> None:
    kv_heads, keys = expected
    (found,) = node(operator, inputs, **attributes)
    assert found["kind"] == table.ATTENTION
    assert tuple(found[name] for name in _SIZES) == (2, 8, kv_heads, 16, keys, 4)
    assert found["flops"] == _OF_ALL * 4 * keys


@pytest.mark.parametrize("packed", [False, True])
def test_grouped_queries_with_earlier_keys(packed: bool) -> None:
    """Each query sees the 48 earlier keys, and half of the 16 new ones."""
    own = [tensor(2, 16, 48), None, None] if packed else [tensor(2, 16, 32), *[tensor(2, 16, 8)] * 2]
    inputs = [*own, *[tensor(2, 2, 48, 4)] * 2]
    (found,) = node("com_microsoft.GroupQueryAttention", inputs, num_heads=8, kv_num_heads=2)
    assert tuple(found[name] for name in _SIZES) == (2, 8, 2, 16, 64, 4)
    assert found["flops"] == _OF_ALL * 4 * (48 + 8)


def test_one_query_sees_all_keys() -> None:
    inputs = [tensor(2, 1, 32), *[tensor(2, 1, 8)] * 2, *[tensor(2, 2, 48, 4)] * 2]
    (found,) = node("com_microsoft.GroupQueryAttention", inputs, num_heads=8, kv_num_heads=2)
    assert (found["kind"], found["columns"]) == (table.ATTENTION_DECODE, 49)
    assert found["flops"] == 4 * 2 * 8 * 49 * 4


@pytest.mark.parametrize(
    ("operator", "attributes"),
    [
        ("onnx.Attention", {"q_num_heads": 8, "kv_num_heads": 8, "is_causal": 1}),
        ("com_microsoft.MultiHeadAttention", {"num_heads": 8, "unidirectional": 1}),
    ],
)
def test_a_causal_mask_halves_the_flops(operator: str, attributes: Any) -> None:
    (found,) = node(operator, [tensor(2, 16, 32)] * 3, **attributes)
    assert found["flops"] == _OF_ALL * 4 * 16 / 2


@pytest.mark.parametrize(("operator", "between"), [("com_microsoft.Attention", 2), ("com_microsoft.QAttention", 6)])
def test_attention_with_its_projection(operator: str, between: int) -> None:
    """Input number 1 has the weights, not the keys; the earlier keys and values are in one tensor."""
    inputs = [tensor(2, 16, 24), tensor(24, 96), *[None] * between, tensor(2, 2, 8, 48, 4)]
    projection, found = node(operator, inputs, num_heads=8, unidirectional=1)
    assert [projection[name] for name in ("kind", "m", "n", "k")] == [table.GEMM, 32, 96, 24]
    assert projection["bytes"] == 4 * (32 * 24 + 24 * 96 + 32 * 96)
    assert tuple(found[name] for name in _SIZES) == (2, 8, 8, 16, 64, 4)
    assert found["flops"] == _OF_ALL * 4 * (48 + 8)
    assert found["bytes"] == 4 * (32 * 32 * 2 + 2 * 64 * 32 * 2)
