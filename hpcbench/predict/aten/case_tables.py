"""Cases that have not run as the predictor's tables: what they compute, and where they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.core.frameworks import TASKS
from hpcbench.core.profiling.operator_list import OperatorList
from hpcbench.core.profiling.operator_row import FORWARD
from hpcbench.predict.aten.convert import ORIGIN, converted
from hpcbench.predict.tables import lists, networks

_COLUMNS = ("kind", "operator", "phase", "arguments", "dtype", "flops", "bytes_moved", "calls")


def lists_of(found: Mapping[str, OperatorList]) -> pd.DataFrame:
    """Return the table of lists of cases, by their IDs. Equal lists are converted once."""
    converted_lists: dict[int, pd.DataFrame] = {}
    parts = []
    for case_id, of_case in found.items():
        key = id(of_case.operators)
        if key not in converted_lists:
            converted_lists[key] = _converted(of_case)
        parts.append(converted_lists[key].assign(list_id=case_id))
    columns = list(lists.COLUMNS)
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def _converted(found: OperatorList) -> pd.DataFrame:
    rows = pd.DataFrame([vars(each) for each in found.operators], columns=list(_COLUMNS))
    works = converted(rows)
    return works.assign(fused_node="", calls=rows["calls"].to_numpy(dtype="float64")[works[ORIGIN].to_numpy()])


def networks_of(
    cases: Iterable[tuple[str, Mapping[str, Any]]], found: Mapping[str, OperatorList], devices: Sequence[str]
) -> pd.DataFrame:
    """Return the table of networks: a row for each case, an ID with its parameters, on each device.

    Cases without a list have an empty `list_id`.
    """
    rows = [_network(case_id, parameters, found[case_id]) for case_id, parameters in cases]
    frame = pd.DataFrame([{**row, "device": device} for row in rows for device in devices])
    return networks.complete(frame)


def _network(case_id: str, parameters: Mapping[str, Any], found: OperatorList) -> dict[str, Any]:
    task = TASKS[parameters["task"]]
    framework, options = parameters["framework"], parameters.get("model_options") or {}
    batch = parameters.get("batch_size")
    return {
        "network": " ".join(filter(None, [str(parameters["model"]), str(options) if options else ""])),
        "library": f"{framework} {found.framework_version or ''}".strip(),
        "phase": networks.TRAINING if task.trains else networks.INFERENCE,
        "dtype": parameters["dtype"],
        "execution": parameters.get("execution") or "",
        "optimizer": (parameters.get("optimizer") or {}).get("name", "") if task.trains else "",
        "threads": parameters.get("intra_op_threads") if parameters["device"] == "cpu" else None,
        "list_id": case_id if found.operators else "",
        "batch_size": batch,
        "mparams": np.nan if found.parameter_count is None else found.parameter_count / 1e6,
        "gmacs": _forward_flops(found) / 2 / batch / 1e9 if batch else np.nan,
        "unit": networks.STEP,
    }


def _forward_flops(found: OperatorList) -> float:
    """Return the FLOPs of the forward pass that PyTorch counts; NaN without a list."""
    forward = [(each.flops or 0) * each.calls for each in found.operators if each.phase == FORWARD]
    return float(sum(forward)) if forward else float("nan")
