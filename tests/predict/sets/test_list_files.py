"""Operator lists: rows with a wrong format are errors, and operators of another name have an unknown kind."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from hpcbench.errors import UserError
from hpcbench.predict.sets.list_files import lists
from hpcbench.predict.tables import operators as table

ADD = {"graph": "g", "phase": "forward", "op": "VECadd", "shape": "[2, 3]", "fused": False, "fused_node": ""}
GEMM = {"batch": 1, "dimM": 2, "dimN": 3, "dimK": 4}


def neusight(**changes: Any) -> pd.DataFrame:
    return pd.DataFrame([{**ADD, "count": 1.0, **changes}])


def kernels(op: Any, parameters: str) -> pd.DataFrame:
    return pd.DataFrame([{"graph": "g", "op": op, "parameters": parameters, "count": 1.0}])


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": "[5]"},
        {"shape": "[2, 3, 4]"},
        {"shape": "[-2, 3]"},
        {"shape": "[1e400, 3]"},
        {"shape": "[" * 10_000},
        {"op": float("nan")},
        {"count": float("nan")},
        {"count": -1.0},
    ],
)
def test_a_row_that_is_not_an_operator_is_an_error_with_its_place(changes: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="is not an operator") as error:
        lists("networks_operators.csv", neusight(**changes))
    assert error.value.where == "networks_operators.csv"
    assert error.value.what.startswith("row 0 (line 2)")
    assert len(error.value.what) < 130


@pytest.mark.parametrize(
    ("op", "parameters"),
    [
        ("gemm", "[1]"),
        ("gemm", "[" * 100_000),
        ("gemm", json.dumps({**GEMM, "batch": "x"})),
        ("elementwise", '{"op": 5, "dim": 3}'),
        ("elementwise", '{"op": "pointwise_add", "dim": "3"}'),
        (None, json.dumps(GEMM)),
    ],
)
def test_a_row_that_is_not_a_kernel_is_an_error(op: Any, parameters: str) -> None:
    with pytest.raises(UserError, match="is not an operator"):
        lists("networks_operators_bf16.csv", kernels(op, parameters))


def test_an_unknown_operator_has_an_unknown_kind_with_the_bytes_of_its_elements() -> None:
    columns = ["kind", "function", "bytes"]
    found = lists("networks_operators.csv", neusight(op="ALLREDUCE", shape="[6]"))
    assert found[columns].to_numpy().tolist() == [[table.UNKNOWN, "ALLREDUCE", 2 * 4 * 6]]
    found = lists("networks_operators_bf16.csv", kernels("embedding", '{"dim": 6}'))
    assert found[columns].to_numpy().tolist() == [[table.UNKNOWN, "embedding", 2 * 2 * 6]]
