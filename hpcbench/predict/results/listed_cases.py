"""The cases of a plan and their operators, in the form of the predictor's tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import pandas as pd

from hpcbench.analysis.cases.labels import label, telling_apart
from hpcbench.config.names import USER_PARAMETER
from hpcbench.core.profiling.operator_list import OperatorList
from hpcbench.core.profiling.operator_row import FORWARD
from hpcbench.models import catalog
from hpcbench.models.source import ONNX_FRAMEWORKS
from hpcbench.plan.case import Case
from hpcbench.predict.aten.convert import ORIGIN, converted
from hpcbench.predict.networks.memory import saved_bytes
from hpcbench.predict.results.cases import CORES, DEVICE_KIND, SET_KIND
from hpcbench.predict.results.image_case import image_case
from hpcbench.predict.results.memory import WEIGHT_BYTES, MemoryRange, memory_of
from hpcbench.predict.tables import lists as list_table
from hpcbench.predict.tables import networks as network_table
from hpcbench.predict.tables.element_bytes import element_bytes

_NOT_LISTED = "its operators were not listed"
_DEFAULT_DTYPE = "float32"


# Memory of a step in bytes, from the ID of a case, its operators, its number of weights, and the bytes that the forward
# pass saves for the backward pass.
Memory = Callable[[str, pd.DataFrame, int | None, float], MemoryRange | None]


class ListedCases(NamedTuple):
    """Cases as a table for `cases.asked`, their operators as a table of lists, and the memory of their steps."""

    cases: pd.DataFrame
    lists: pd.DataFrame
    memory: Mapping[str, MemoryRange]


def listed_cases(cases: Sequence[Case], listed: Mapping[str, OperatorList]) -> ListedCases:
    """Return the cases of a plan with the operators of their steps; a case without operators has the reason.

    A case whose operators cannot be listed is refused, unless the catalog of image networks has its network.
    """
    labels, by_id = _labels(cases), {case.id: case for case in cases}
    lists = {case.id: listed.get(case.id, OperatorList(case.id, reason=_NOT_LISTED)) for case in cases}
    rows = [_row(case, labels[case.id], lists[case.id]) for case in cases]

    def memory(case: str, operators: pd.DataFrame, weights: int | None, saved: float) -> MemoryRange | None:
        own = by_id[case].parameters
        optimizer, training = str(own.optimizer.content().get("name", "momentum")), own.task == network_table.TRAINING
        return memory_of(operators, weights, training, optimizer, saved, _weight_bytes(by_id[case], operators))

    return with_operators(rows, lists, memory)


def with_operators(rows: Sequence[Mapping[str, Any]], lists: Mapping[str, OperatorList], memory: Memory) -> ListedCases:
    """Return cases, which are rows with the columns of `ListedCases.cases`, with their operators and memory.

    `lists` has the operators of each case by its ID. Cases without operators have neither.
    """
    operators, sizes = [], {}
    for case, found in lists.items():
        frame = pd.DataFrame([asdict(each) for each in found.operators])
        if found.reason or frame.empty:
            continue
        works = _list_of(case, frame)
        operators.append(works)
        size = memory(case, frame, found.parameter_count, _saved_bytes_of(works))
        if size is not None:
            sizes[case] = size
    empty = pd.DataFrame(columns=list(list_table.COLUMNS))
    return ListedCases(pd.DataFrame(rows), pd.concat(operators, ignore_index=True) if operators else empty, sizes)


def _row(case: Case, shown: str, listed: OperatorList) -> dict[str, Any]:
    """Return the row of a case: its columns of the table of networks, and those of `cases.CASE`."""
    own, reason = case.parameters, listed.reason
    image = image_case(own)
    is_by_name = bool(reason and image.network)
    training = own.task == network_table.TRAINING
    return {
        "case": case.id,
        "label": shown,
        "items_per_step": own.batch_size * _items_per_input(own.model, own.model_options or {}),
        "refused": "" if is_by_name else reason,
        "unlisted": reason if is_by_name else "",
        "image_network": image.network,
        "image_size": image.image_size,
        "network": own.model or "",
        "phase": own.task,
        "dtype": listed.dtype or own.dtype or _DEFAULT_DTYPE,
        "execution": own.execution or network_table.EAGER,
        "optimizer": own.optimizer.content().get("name", "momentum") if training else "",
        "batch_size": own.batch_size,
        "threads": min(own.intra_op_threads or own.cpus_per_task, own.cpus_per_task),
        CORES: own.cpus_per_task,
        DEVICE_KIND: own.device or "",
        SET_KIND: own.device if "device" in own.model_fields_set else "",
        "list_id": "" if reason else case.id,
    }


def _items_per_input(model: str | None, options: Mapping[str, Any]) -> int:
    """Return the items of one input: tokens of a shipped model that predicts them, otherwise 1."""
    if model not in catalog.MODELS:
        return 1
    return catalog.MODELS[model].items_per_input(catalog.resolved_options(model, dict(options)))


def _weight_bytes(case: Case, operators: pd.DataFrame) -> int:
    """Return the bytes of a weight: of an ONNX file, those of the operators with most of them, otherwise of float32."""
    if case.parameters.framework not in ONNX_FRAMEWORKS:
        return WEIGHT_BYTES
    sizes = operators.groupby("dtype")["weight_bytes"].sum()
    return element_bytes(str(sizes.idxmax())) if len(sizes) else WEIGHT_BYTES


def _list_of(case: str, operators: pd.DataFrame) -> pd.DataFrame:
    """Return the operators of a case, which are rows of a node's list, as rows of the table of lists."""
    works = converted(operators)
    calls = operators["calls"].to_numpy(dtype="float64")[works[ORIGIN].to_numpy()]
    return works.assign(list_id=case, fused_node="", calls=calls)[list(list_table.COLUMNS)]


def _saved_bytes_of(works: pd.DataFrame) -> float:
    """Return the bytes that the forward pass of a list saves for the backward pass."""
    forward = works[works["phase"] == FORWARD]
    return float((saved_bytes(forward) * forward["calls"]).sum())


def _labels(cases: Iterable[Case]) -> dict[str, str]:
    """Return for each case the parameters that distinguish it; empty for a single case."""
    rows = [
        {
            "case": case.id,
            **{name: _text(value) for name, value in case.parameters.planned().items()},
            **{USER_PARAMETER + name: _text(value) for name, value in case.user_parameters.items()},
        }
        for case in cases
    ]
    table = pd.DataFrame(rows)
    shown = telling_apart(table, [name for name in table.columns if name != "case"])
    return {row["case"]: label(row, shown) if shown else "" for _, row in table.iterrows()}


def _text(value: Any) -> Any:
    return json.dumps(value, sort_keys=True) if isinstance(value, dict | list) else value
