"""TFLOP/s per device of a case: by the counted FLOPs of its layers and, for language models, by the 6N rule.

A device is a GPU, or all CPUs that a case uses on a node. The 6N rule estimates 6 FLOPs per parameter and token for
training, 2 for inference, without attention scores (Kaplan et al., 2020, "Scaling laws for neural language models",
section 2.1). N are the parameters without embeddings; the output layer counts.

Operators also have GB/s per device, by the bytes that a call moves at least, and collective ones the bus bandwidth of a
task.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pandas as pd

from hpcbench.analysis.cases.quantities import THROUGHPUT
from hpcbench.core.frameworks import INPUT_PIPELINE, TASKS
from hpcbench.models import catalog
from hpcbench.util.fast_json import decoded

TERA, GIGA = 1e12, 1e9
EXACT, BY_RULE = "tflops_per_device", "tflops_per_device_6n"
BYTES, BUS = "gb_per_s_per_device", "bus_gb_per_s"


def add_flop_rates(cases: pd.DataFrame) -> pd.DataFrame:
    """Return the cases with TFLOP/s and, for operators, GB/s; a rate is empty if it is unknown."""
    rows = cases.to_dict("records")
    columns = {
        EXACT: [_per_device(row, row["flops_per_item"], TERA) for row in rows],
        BY_RULE: [_by_rule(row) for row in rows],
        BYTES: [_per_device(row, row.get("bytes_per_item"), GIGA) for row in rows],
        BUS: [_of_bus(row) for row in rows],
    }
    return cases.assign(**{name: pd.Series(values, cases.index, "float64") for name, values in columns.items()})


def _by_rule(row: dict[Any, Any]) -> float | None:
    model = catalog.MODELS.get(row["model"]) if isinstance(row["model"], str) else None
    if model is None or not model.predicts_tokens or row["task"] == INPUT_PIPELINE:
        return None
    factor = 6 if TASKS[row["task"]].trains else 2
    return _per_device(row, factor * _parameters(row["model"], row["model_options"]), TERA)


def _per_device(row: dict[Any, Any], per_item: Any, unit: float) -> float | None:
    if pd.isna(row[THROUGHPUT.column]) or pd.isna(per_item):
        return None
    devices = row["nodes"] * (row["tasks_per_node"] if row["device"] == "gpu" else 1)
    return float(per_item * row[THROUGHPUT.column] / devices / unit)


def _of_bus(row: dict[Any, Any]) -> float | None:
    """Return the bus bandwidth of a collective operator, whose calls all tasks make together."""
    sent = row.get("bus_bytes_per_item")
    return None if pd.isna(sent) or pd.isna(row[THROUGHPUT.column]) else float(sent * row[THROUGHPUT.column] / GIGA)


@lru_cache(maxsize=1024)
def _parameters(model: str, model_options: str) -> int:
    return catalog.parameters_without_embeddings(model, catalog.resolved_options(model, decoded(model_options)))
