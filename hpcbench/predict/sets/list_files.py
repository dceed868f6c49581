"""The files of operator lists: `networks_operators.parquet` and `networks_operators_bf16.parquet`."""

from __future__ import annotations

import ast
import json
import math
from typing import Any

import pandas as pd

from hpcbench.errors import UserError
from hpcbench.predict.aten.products import product
from hpcbench.predict.sets.places import place
from hpcbench.predict.tables import lists as list_table
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.element_bytes import element_bytes

_FUNCTIONS = {"VECsoftmax": (table.SOFTMAX, "softmax"), "VECln": (table.LAYER_NORM, "layer_norm")}
_TWO_INPUTS = ("add", "mul", "div", "pow")
_FLOAT32_BYTES = element_bytes("float32")
_NOT_AN_OPERATOR = (
    *(ValueError, KeyError, TypeError, IndexError, AttributeError),
    *(SyntaxError, OverflowError, RecursionError),
)
_MOST_SHOWN = 60  # characters of a wrong row


def lists(file: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the lists of a file, in either format. Raise UserError if a row is not an operator of its format."""
    convert = _kernel_row if "parameters" in rows else _neusight_row
    found = []
    for number, row in zip(rows.index, rows.to_dict("records"), strict=True):
        try:
            found.append(_checked(convert(row)))
        except _NOT_AN_OPERATOR as error:
            shown = f"{row.get('op')} {row.get('shape', row.get('parameters'))}"[:_MOST_SHOWN]
            what = f"{place(file, number)} is not an operator: {shown}, count {row['count']:g}"
            hint = "docs/reference/predictor-data.md lists the operators and their shapes"
            raise UserError(what, where=file, hint=hint) from error
    return _lists(found)


def _checked(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row. Raise ValueError if its count or a size is not a number, or is negative or infinite."""
    numbers = [row[name] for name in ("calls", *table.SIZES) if name in row]
    if not all(isinstance(each, int | float) and 0 <= each < math.inf for each in numbers):
        raise ValueError("a size is not a number from 0 on")
    return row


def _neusight_row(row: dict[Any, Any]) -> dict[str, Any]:
    fused = str(row["fused"]).lower() in ("true", "1", "1.0")
    return {
        "list_id": row["graph"],
        "fused_node": row["fused_node"] if fused else "",
        "calls": row["count"],
        **_neusight(row["op"], ast.literal_eval(row["shape"]), row["phase"]),
    }


def _kernel_row(row: dict[Any, Any]) -> dict[str, Any]:
    return {
        "list_id": row["graph"],
        "fused_node": "",
        "calls": row["count"],
        **_kernel(row["op"], json.loads(row["parameters"])),
    }


def _lists(found: list[dict[str, Any]]) -> pd.DataFrame:
    completed = table.complete(pd.DataFrame(found, columns=list(list_table.COLUMNS)))
    origin = pd.DataFrame(found, columns=["list_id", "fused_node", "calls"])
    return pd.concat([origin, completed[list(table.WORK)]], axis=1)


def _neusight(op: str, shape: list[Any], phase: str) -> dict[str, Any]:
    common = {"phase": phase, "dtype": "float32"}
    if op == "Linear":
        rows, inner, outer = shape
        return {**common, **product_with_bytes("linear", 1, rows, outer, inner, _FLOAT32_BYTES)}
    if op == "BMM":
        batch, m, k, n = shape
        return {**common, **product_with_bytes("bmm", batch, m, n, k, _FLOAT32_BYTES)}
    if op == "MEM":
        elements = [_count(each) for each in shape]
        moved = float(_FLOAT32_BYTES * sum(elements))
        return {**common, "kind": table.COPY, "function": "copy", "rows": 1, "columns": max(elements, default=0),
                "inputs": len(shape) - 1, "flops": 0.0, "bytes": moved}  # fmt: skip
    if not op.startswith("VEC"):
        return {**common, **_row_wise(op, 1, _count(shape), _FLOAT32_BYTES), "kind": table.UNKNOWN}
    rows, columns = shape
    return {**common, **_row_wise(op.removeprefix("VEC"), rows, columns, _FLOAT32_BYTES)}


def _row_wise(name: str, rows: int, columns: int, element: int) -> dict[str, Any]:
    kind, function = _FUNCTIONS.get(f"VEC{name}", (table.POINTWISE, name))
    scalar = function.endswith("u") and function[:-1] in _TWO_INPUTS
    inputs = 2 if function in _TWO_INPUTS else 1
    return {
        "kind": kind,
        "function": function[:-1] if scalar else function,
        "rows": rows,
        "columns": columns,
        "inputs": inputs,
        "flops": float(rows * columns),
        "bytes": float(element * (inputs + 1) * rows * columns),
    }


def _kernel(op: str, parameters: dict[str, Any]) -> dict[str, Any]:
    element = element_bytes("bfloat16")
    common = {"phase": "forward", "dtype": "bfloat16"}
    if op == "gemm":
        batch, m, n, k = (parameters[name] for name in ("batch", "dimM", "dimN", "dimK"))
        return {**common, **product_with_bytes("linear" if batch == 1 else "bmm", batch, m, n, k, element)}
    if op in ("layernorm", "softmax"):
        name = "ln" if op == "layernorm" else op
        return {**common, **_row_wise(name, parameters["batch"], parameters["dim"], element)}
    if op != "elementwise":
        return {**common, **_row_wise(op, 1, parameters["dim"], element), "kind": table.UNKNOWN}
    name = parameters["op"].removeprefix("pointwise_").removeprefix("unspecified_")
    if name.startswith("scalar_"):
        name = name.removeprefix("scalar_") + "u"
    return {**common, **_row_wise({"scalar": "addu", "tensor": "add"}.get(name, name), 1, parameters["dim"], element)}


def product_with_bytes(function: str, batch: int, m: int, n: int, k: int, element: int) -> dict[str, Any]:
    """Return the sizes of `batch` products of m x k and k x n with elements of so many bytes."""
    kind = table.GEMM if function == "linear" else table.BATCHED_GEMM
    return {**product(batch, m, n, k, function, kind), "bytes": float(element * batch * (m * k + k * n + m * n))}


def _count(shape: Any) -> int:
    total = 1
    for each in shape:
        total *= each
    return total
