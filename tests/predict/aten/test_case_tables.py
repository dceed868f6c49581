"""Cases that have not run as tables."""

from __future__ import annotations

import json
import math
from typing import Any

from hpcbench.core.profiling.operator_list import ListedOperator, OperatorList
from hpcbench.predict.aten.case_tables import lists_of, networks_of
from hpcbench.predict.tables import lists, networks
from tests.predict.aten.calls import tensor

PARAMETERS: dict[str, Any] = {
    "framework": "pytorch",
    "model": "mlp",
    "model_options": {"layers": 1},
    "task": "training",
    "dtype": "float32",
    "device": "cpu",
    "execution": "compiled",
    "optimizer": {"name": "adamw"},
    "batch_size": 4,
    "intra_op_threads": 2,
}


def product(phase: str = "forward", calls: int = 1) -> ListedOperator:
    arguments = json.dumps({"self": tensor(4, 5), "mat2": tensor(5, 6)})
    sizes = {"bytes_moved": 296, "weight_bytes": 120, "output_bytes": 96, "flops": 240, "dtype": "float32"}
    return ListedOperator("gemm", "aten.mm.default", phase, arguments, calls, is_view=False, **sizes)  # type: ignore[arg-type]


def view() -> ListedOperator:
    return ListedOperator("view", "aten.view.default", "forward", "{}", 1, 0, 0, 0, is_view=True)


FOUND = OperatorList("c1", "", [view(), product(calls=3), product("backward", 2)], "2.13.0", 2_000_000)


def test_lists_of_cases() -> None:
    found = lists_of({"c1": FOUND, "c2": FOUND, "c3": OperatorList("c3", "it is a command")})
    assert list(found.columns) == list(lists.COLUMNS)
    assert found["list_id"].tolist() == ["c1", "c1", "c2", "c2"]
    assert found["calls"].tolist() == [3, 2, 3, 2]
    assert found["phase"].tolist() == ["forward", "backward"] * 2
    assert found["m"].tolist() == [4] * 4


def test_no_lists() -> None:
    assert list(lists_of({}).columns) == list(lists.COLUMNS)


def test_a_case_has_a_row_on_each_device() -> None:
    found = networks_of([("c1", PARAMETERS)], {"c1": FOUND}, ["X", "Y"])
    assert list(found.columns) == list(networks.COLUMNS)
    assert found["device"].tolist() == ["X", "Y"]
    (row, _) = found.to_dict("records")
    assert (row["network"], row["list_id"], row["phase"]) == ("mlp {'layers': 1}", "c1", networks.TRAINING)
    assert (row["library"], row["optimizer"], row["execution"]) == ("pytorch 2.13.0", "adamw", networks.COMPILED)
    assert (row["threads"], row["mparams"], row["batch_size"], row["unit"]) == (2, 2, 4, "step")
    assert row["gmacs"] == 3 * 240 / 2 / 4 / 1e9  # the forward products, of four items


def test_a_case_without_a_list_on_a_gpu() -> None:
    parameters = {**PARAMETERS, "device": "gpu", "task": "inference", "model_options": {}}
    found = networks_of([("c1", parameters)], {"c1": OperatorList("c1", "it is odd")}, ["X"])
    (row,) = found.to_dict("records")
    assert (row["network"], row["list_id"], row["optimizer"], row["phase"]) == ("mlp", "", "", networks.INFERENCE)
    assert math.isnan(row["threads"])
    assert math.isnan(row["gmacs"])
