"""Columns that define the workload of cases, with the values of an ordinary case, for tables made by hand."""

from __future__ import annotations

from typing import Any

WORKLOAD: dict[str, Any] = {
    "data": None,
    "target_accuracy": None,
    "models": None,
    "models_per_minute": None,
    "input": None,
    "operator": None,
    "phase": None,
    "sizes": None,
    "validate": None,
    "validation": None,
    "result_crc32": None,
    "loss_function": None,
    "step": None,
    "graph_fingerprint": None,
    "optimizer": "momentum",
    "gradient_accumulation_steps": 1,
    "probed_steps": None,
}
