"""Rows of operators, as lists and profiles have them."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd

from hpcbench.predict.aten.convert import converted


def tensor(*shape: int, dtype: str = "float32", strides: tuple[int, ...] | None = None) -> dict[str, Any]:
    """A tensor as arguments describe it, contiguous unless `strides` are given."""
    contiguous = [1] * len(shape)
    for place in range(len(shape) - 2, -1, -1):
        contiguous[place] = contiguous[place + 1] * shape[place + 1]
    return {"shape": list(shape), "strides": list(strides or contiguous), "dtype": dtype}


def row(operator: str, /, kind: str = "other", **arguments: Any) -> dict[str, Any]:
    """A row of an operator with these arguments, of 1000 bytes and without FLOPs."""
    fixed = {"phase": "forward", "dtype": "float32", "flops": None, "bytes_moved": 1000}
    return {"kind": kind, "operator": operator, **fixed, "arguments": json.dumps(arguments)}


def work(operator: str, /, **arguments: Any) -> list[dict[str, Any]]:
    """The operators inside a call, each with the columns that are not empty."""
    found = converted(pd.DataFrame([row(operator, **arguments)]))
    rows = found.drop(columns=["phase", "origin"]).to_dict("records")
    return [{name: value for name, value in each.items() if value == value and value != ""} for each in rows]
