"""The cases of one network whose operators are known for batches of several sizes, as the predictor's tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import pandas as pd

from hpcbench.core.profiling.operator_list import OperatorList
from hpcbench.predict.results.cases import CASE
from hpcbench.predict.results.listed_cases import ListedCases, list_of, saved_bytes_of
from hpcbench.predict.results.memory import memory_of
from hpcbench.predict.tables import lists as list_table
from hpcbench.predict.tables import networks as network_table
from hpcbench.predict.tables.element_bytes import element_bytes


def program_cases(network: str, lists: Mapping[int, OperatorList], dtype: str) -> ListedCases:
    """Return the inference cases of a network with weights of a dtype. `lists` has its operators by batch size."""
    rows, operators, memory = [], [], {}
    for batch_size, found in lists.items():
        case = f"{network}-{batch_size}"
        frame = pd.DataFrame([asdict(each) for each in found.operators])
        label = f"batch_size={batch_size}" if len(lists) > 1 else ""
        row = {"case": case, "label": label, "items_per_step": batch_size, "list_id": case, "batch_size": batch_size}
        fixed = {"network": network, "phase": network_table.INFERENCE, "execution": network_table.EAGER, "dtype": dtype}
        rows.append({**dict.fromkeys(CASE, ""), **fixed, **row})
        if frame.empty:
            continue
        works = list_of(case, frame)
        operators.append(works)
        size = memory_of(
            frame, found.parameter_count, False, saved_bytes=saved_bytes_of(works), weight_bytes=element_bytes(dtype)
        )
        if size is not None:
            memory[case] = size
    empty = pd.DataFrame(columns=list(list_table.COLUMNS))
    return ListedCases(pd.DataFrame(rows), pd.concat(operators, ignore_index=True) if operators else empty, memory)
