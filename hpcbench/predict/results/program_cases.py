"""The cases of one network whose operators are known for batches of several sizes, as the predictor's tables."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from hpcbench.core.profiling.operator_list import OperatorList
from hpcbench.predict.results.cases import CASE
from hpcbench.predict.results.listed_cases import ListedCases, with_operators
from hpcbench.predict.results.memory import MemoryRange, memory_of
from hpcbench.predict.tables import networks as network_table
from hpcbench.predict.tables.element_bytes import element_bytes


def program_cases(network: str, lists: Mapping[int, OperatorList], dtype: str) -> ListedCases:
    """Return the inference cases of a network with weights of a dtype. `lists` has its operators by batch size."""
    rows = []
    for batch_size in lists:
        case = _case(network, batch_size)
        label = f"batch_size={batch_size}" if len(lists) > 1 else ""
        row = {"case": case, "label": label, "items_per_step": batch_size, "list_id": case, "batch_size": batch_size}
        fixed = {"network": network, "phase": network_table.INFERENCE, "execution": network_table.EAGER, "dtype": dtype}
        rows.append({**dict.fromkeys(CASE, ""), **fixed, **row})

    def memory(_: str, operators: pd.DataFrame, weights: int | None, saved: float) -> MemoryRange | None:
        return memory_of(operators, weights, False, saved_bytes=saved, weight_bytes=element_bytes(dtype))

    return with_operators(rows, {_case(network, size): found for size, found in lists.items()}, memory)


def _case(network: str, batch_size: int) -> str:
    """Return the ID of a case."""
    return f"{network}-{batch_size}"
