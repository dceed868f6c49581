"""Operators of exported graphs: composite ones are those that PyTorch launches."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pandas as pd
import pytest

from hpcbench.collect.operator_lists.exported.graph import HIGHER_ORDER, Node, Tensor, nodes_of
from hpcbench.collect.operator_lists.exported.operators import operators_of
from hpcbench.predict.aten.convert import converted
from tests.collect.operator_lists.exported.made_program import linear, meta, node, program


def a(*shape: int, strides: tuple[int, ...] | None = None, dtype: str = "float32") -> Tensor:
    usual = [1] * len(shape)
    for place in range(len(shape) - 2, -1, -1):
        usual[place] = usual[place + 1] * shape[place + 1]
    return Tensor(shape, strides or tuple(usual), dtype)


def works(name: str, *outputs: Tensor, **arguments: Any) -> list[dict[str, Any]]:
    """Return what the predictor sees of a call, without empty columns."""
    found = operators_of([Node(f"torch.ops.{name}", arguments, outputs)])
    if not found:
        return []
    rows = converted(pd.DataFrame([asdict(each) for each in found])).to_dict("records")
    return [{str(key): value for key, value in row.items() if value == value and value != ""} for row in rows]


@pytest.mark.parametrize(
    ("name", "outputs", "arguments", "expected"),
    [
        (
            "aten.conv2d.default",
            [a(2, 8, 16, 16)],
            {"input": a(2, 3, 16, 16), "weight": a(8, 3, 3, 3), "padding": [1, 1]},
            {"kind": "conv", "m": 512, "n": 8, "k": 27, "stride": 1},
        ),
        (
            "aten.conv2d.padding",
            [a(2, 8, 16, 16)],
            {"input": a(2, 3, 16, 16), "weight": a(8, 3, 3, 3), "padding": "same"},
            {"kind": "conv", "m": 512, "n": 8, "k": 27},
        ),
        (
            "aten.conv_transpose2d.input",
            [a(1, 8, 8, 8)],
            {"input": a(1, 4, 4, 4), "weight": a(4, 8, 2, 2), "stride": [2, 2]},
            {"kind": "conv_input_gradient", "flops": 2 * 64 * 8 * 4},
        ),
        (
            "aten.matmul.default",
            [a(2, 5, 7)],
            {"self": a(2, 5, 6), "other": a(6, 7)},
            {"kind": "gemm", "m": 10, "n": 7, "k": 6},
        ),
        (
            "aten.matmul.default",
            [a(2, 3, 5, 7)],
            {"self": a(2, 3, 5, 6), "other": a(2, 3, 6, 7)},
            {"kind": "batched_gemm", "batch": 6, "m": 5, "n": 7, "k": 6},
        ),
        ("aten.matmul.default", [a(5)], {"self": a(5, 6), "other": a(6)}, {"kind": "gemm", "m": 5, "n": 1, "k": 6}),
        (
            "aten.einsum.default",
            [a(2, 4, 5, 7)],
            {"equation": "bihd, bjhd -> bhij", "tensors": [a(2, 5, 4, 6), a(2, 7, 4, 6)]},
            {"kind": "batched_gemm", "batch": 8, "m": 5, "n": 7, "k": 6},
        ),
        (
            "aten.einsum.default",
            [a(5)],
            {"equation": "ij->i", "tensors": [a(5, 6)]},
            {"kind": "unknown", "function": "aten.einsum.default"},
        ),
        (
            "aten.scaled_dot_product_attention.default",
            [a(2, 4, 9, 8)],
            {"query": a(2, 4, 9, 8), "key": a(2, 4, 5, 8), "value": a(2, 4, 5, 8)},
            {"kind": "attention", "batch": 2, "heads": 4, "rows": 9, "columns": 5, "head_dim": 8},
        ),
        (
            "aten.scaled_dot_product_attention.default",
            [a(2, 9, 8)],
            {"query": a(2, 9, 8), "key": a(2, 9, 8), "value": a(2, 9, 8), "is_causal": True},
            {"kind": "attention", "batch": 2, "heads": 1, "rows": 9, "flops": 4 * 2 * 81 * 8 / 2},
        ),
        (
            "aten.layer_norm.default",
            [a(2, 5, 6)],
            {"input": a(2, 5, 6), "normalized_shape": [6]},
            {"kind": "layer_norm", "rows": 10, "columns": 6},
        ),
        (
            "aten.group_norm.default",
            [a(2, 8, 3)],
            {"input": a(2, 8, 3), "num_groups": 4},
            {"kind": "layer_norm", "rows": 8, "columns": 6},
        ),
        (
            "aten.lstm.input",
            [a(2, 5, 16)],
            {
                "input": a(2, 5, 6),
                "hx": [a(1, 2, 16), a(1, 2, 16)],
                "params": [a(64, 6), a(64, 16)],
                "num_layers": 1,
                "bidirectional": False,
                "batch_first": True,
            },
            {"kind": "rnn", "function": "lstm", "rows": 5, "batch": 2, "n": 64, "k": 22},
        ),
        ("aten.to.dtype", [a(4, dtype="bfloat16")], {"self": a(4), "dtype": "bfloat16"}, {"kind": "copy"}),
        ("aten.reshape.default", [a(6, 4)], {"self": a(4, 6, strides=(1, 4))}, {"kind": "copy"}),
        ("mylib.secret.default", [a(4)], {"x": a(4)}, {"kind": "unknown", "function": "mylib.secret.default"}),
        ("aten.conv2d.default", [a(4)], {"input": a(4)}, {"kind": "unknown", "function": "aten.conv2d.default"}),
    ],
)
def test_composite_operators_are_those_that_are_launched(
    name: str, outputs: list[Tensor], arguments: dict[str, Any], expected: dict[str, Any]
) -> None:
    (found,) = works(name, *outputs, **arguments)
    assert {key: found[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("name", "outputs", "arguments"),
    [
        ("aten.dropout.default", [a(4)], {"input": a(4), "train": False}),
        ("aten.reshape.default", [a(24)], {"self": a(4, 6)}),
        ("aten.to.dtype", [a(4)], {"self": a(4), "dtype": "float32"}),
        ("aten.permute.default", [a(6, 4)], {"self": a(4, 6), "dims": [1, 0]}),
        ("aten.slice.Tensor", [a(2, 6)], {"self": a(4, 6)}),
    ],
)
def test_views_and_calls_without_work_launch_nothing(
    name: str, outputs: list[Tensor], arguments: dict[str, Any]
) -> None:
    assert works(name, *outputs, **arguments) == []


def test_arithmetic_of_the_host_is_left_out() -> None:
    assert operators_of([Node("_operator.mul", {"0": 2, "1": 3}, ())]) == []


def test_equal_calls_are_counted_and_look_ups_read_their_rows() -> None:
    table, rows = a(1000, 8), a(2, 3, 8)
    call = Node("torch.ops.aten.embedding.default", {"weight": table, "indices": a(2, 3, dtype="int64")}, (rows,))
    (found,) = operators_of([call, call])
    assert (found.calls, found.bytes_moved) == (2, 2 * 4 * 48)


def test_elements_that_share_memory_count_once() -> None:
    expanded = a(100, 8, strides=(0, 1))
    (found,) = operators_of([Node("torch.ops.aten.relu.default", {"self": expanded}, (a(100, 8),))])
    assert found.bytes_moved == 4 * (8 + 800)


def test_graphs_inside_wrappers_are_listed() -> None:
    inner = linear(4)["graph_module"]["graph"]
    call = node(f"{HIGHER_ORDER}wrap_with_set_grad_enabled", "a", enabled={"as_bool": False})
    call["inputs"].append({"name": "", "arg": {"as_graph": {"name": "inner", "graph": inner}}, "kind": 1})
    outer = program([call], {"x": meta(4, 16), "a": meta(4, 8)})["graph_module"]["graph"]
    assert [each.operator for each in operators_of(nodes_of(outer, {}))] == ["aten.linear.default", "aten.relu.default"]


def test_arguments_may_be_lists_symbols_and_nothing() -> None:
    graph = program(
        [
            node(
                "torch.ops.mine.all.default",
                "a",
                several={"as_tensors": [{"name": "x"}]},
                optional={"as_optional_tensors": [{"as_tensor": {"name": "x"}}, {"as_none": True}]},
                size={"as_sym_int": {"as_name": "n"}},
                sizes={"as_sym_ints": [{"as_int": 2}, {"as_name": "n"}]},
                dtype={"as_scalar_type": 13},
                nothing={"as_none": True},
                device={"as_device": {"type": "cuda"}},
            )
        ],
        {"x": meta(4), "a": meta(4)},
    )["graph_module"]["graph"]
    graph["sym_int_values"] = {"n": {"as_int": 5}}
    (found,) = operators_of(nodes_of(graph, {}))
    shown = json.loads(found.arguments)
    described = {"shape": [4], "strides": [1], "dtype": "float32"}
    assert shown["several"] == [described]
    assert shown["optional"] == [described, None]
    assert (shown["size"], shown["sizes"], shown["dtype"]) == (5, [2, 5], "bfloat16")
    assert shown["nothing"] is None
    assert shown["device"] is None


def test_products_without_elements_are_listed() -> None:
    product = Node("torch.ops.aten.matmul.default", {"self": a(5, 0), "other": a(0, 7)}, (a(5, 7),))
    (found,) = operators_of([product])
    assert (found.operator, found.bytes_moved) == ("aten.mm.default", 4 * 35)
