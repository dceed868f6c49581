"""Exported programs as torch.export.save writes them, with a few operators, for tests without PyTorch."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

FLOAT32, BFLOAT16 = 7, 13
BATCH = {"as_expr": {"expr_str": "Symbol('s77', integer=True, positive=True)", "hint": {"as_int": 4}}}
TWICE = {"as_expr": {"expr_str": "Mul(Integer(2), Symbol('s77', integer=True, positive=True))", "hint": None}}


def meta(*sizes: Any, dtype: int = FLOAT32, strides: tuple[int, ...] = ()) -> dict[str, Any]:
    """A tensor; sizes are numbers or expressions. Without strides, it is contiguous in dimensions that are numbers."""
    numbers = [each if isinstance(each, int) else 1 for each in sizes]
    usual = [1] * len(sizes)
    for place in range(len(sizes) - 2, -1, -1):
        usual[place] = usual[place + 1] * numbers[place + 1]
    size = [{"as_int": each} if isinstance(each, int) else each for each in sizes]
    return {"dtype": dtype, "sizes": size, "strides": [{"as_int": each} for each in strides or usual]}


def tensor(name: str) -> dict[str, Any]:
    """An argument that is a tensor."""
    return {"as_tensor": {"name": name}}


def node(target: str, result: str, **arguments: dict[str, Any]) -> dict[str, Any]:
    """A call with arguments by name."""
    inputs = [{"name": name, "arg": value, "kind": 1} for name, value in arguments.items()]
    return {"target": target, "inputs": inputs, "outputs": [tensor(result)], "metadata": {}}


def program(
    nodes: list[dict[str, Any]], tensors: dict[str, dict[str, Any]], weights: tuple[str, ...] = ("w",)
) -> dict[str, Any]:
    """A program with the input `x` and some weights."""
    specs = [{"parameter": {"arg": {"name": name}, "parameter_name": name}} for name in weights]
    graph = {"inputs": [], "outputs": [], "nodes": nodes, "tensor_values": tensors, "sym_int_values": {}}
    return {
        "graph_module": {"graph": graph, "signature": {"input_specs": [*specs, {"user_input": {"arg": tensor("x")}}]}},
        "range_constraints": {"s77": {"min_val": 1, "max_val": 64}},
        "schema_version": {"major": 8, "minor": 20},
        "torch_version": "2.13.0",
    }


def linear(batch: Any = BATCH, dtype: int = FLOAT32) -> dict[str, Any]:
    """A linear layer, a ReLU in place of itself, and a dropout without effect."""
    return program(
        [
            node("torch.ops.aten.linear.default", "a", input=tensor("x"), weight=tensor("w")),
            node("torch.ops.aten.relu.default", "b", self=tensor("a")),
            node(
                "torch.ops.aten.dropout.default", "c", input=tensor("b"), p={"as_float": 0.1}, train={"as_bool": False}
            ),
        ],
        {
            "x": meta(batch, 16, dtype=dtype),
            "w": meta(8, 16, dtype=dtype),
            **{name: meta(batch, 8, dtype=dtype) for name in "abc"},
        },
    )


def saved(file: Path, content: dict[str, Any] | bytes, name: str = "net/models/model.json") -> Path:
    """Write an archive with one graph, and a pickle that must not be read."""
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, content if isinstance(content, bytes) else json.dumps(content))
        archive.writestr("net/data/sample_inputs/model.pt", b"cos\nsystem\n(S'touch pwned'\ntR.")
    return file
