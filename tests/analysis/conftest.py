"""Tables of runs, as the collecting stage hands them over."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from hpcbench.analysis.cases.case_table import case_table
from hpcbench.core.frameworks import CHOICES
from tests.workload_columns import WORKLOAD

WHOLE = ["parameter_count", "flops_per_item", "items_per_step", "peak_memory_bytes", "peak_device_bytes"]
Row = dict[str, Any]


# A completed repetition, and what one that failed has not.
USUAL: Row = {
    "sweep": "sweep-1",
    "experiment": "study",
    "case": "case-0",
    "case_index": 0,
    "run": 0,
    "attempt": 1,
    "attempts": 1,
    "interference": "clean",
    "interference_causes": None,
    "steady": True,
    "drift": 0.0,
    "energy_reason": None,
    "energy_measured_j": None,
    "energy_measured_j_per_item": None,
    "energy_scope": None,
    "currency": None,
    "price_per_hour": None,
    "price_reason": "the site file has no prices",
    "co2e_g_per_kwh": None,
    "items_per_epoch": None,
    "bytes_per_item": None,
    "bus_bytes_per_item": None,
    "status": "completed",
    "framework": "pytorch",
    "command": None,
    "framework_version": "2.13.0",
    "model": "mlp",
    "model_options": None,
    "task": "training",
    "strategy": "single",
    "device": "cpu",
    "batch_size": 32,
    "intra_op_threads": None,
    "nodes": 1,
    "tasks_per_node": 1,
    "cpus_per_task": 1,
    "gpus_per_task": 0,
    **dict.fromkeys(CHOICES),
    "instances": 1,
    "environment": None,
    "dtype": "float32",
    "steps_per_measurement": 1,
    "warmup_steps": 2,
    "first_step_s": 0.5,
    "import_s": 1.0,
    "build_s": 0.1,
    "epochs": None,
    "accuracy": None,
    "best_accuracy": None,
    **dict.fromkeys(("training_loss", "best_training_loss", "training_accuracy", "best_training_accuracy")),
    "parameter_count": 100,
    "flops_per_item": 200,
    "items_per_step": 32,
    "math_mode": "matmul highest",
    "held_out": 0.2,
    **WORKLOAD,
    "peak_memory_bytes": 1000,
    "peak_device_bytes": None,
    "saved_activation_bytes": None,
    "saved_activation_reason": None,
    "effective_intra_op_threads": 1,
    "effective_inter_op_threads": 1,
    "cpu_model": "a CPU",
    "cpu_governor": "performance",
    "cpu_turbo": "off",
    "gpu_model": None,
    "placement": "",
    "performance_variables": "{}",
    "outside_variables": "none",
    "kernel": "6.1.0",
    "software": "python 3.11.2, torch 2.13.0",
    "hpcbench_version": "0.1.0",
    "git_commit": "f0cfe52",
    "git_dirty": False,
    "site": "cluster",
    "nodes_used": "n1",
    "job_id": "12_0",
    "started_at": "2026-11-01T00:00:00.000+00:00",
    "ended_at": "2026-11-01T00:00:05.000+00:00",
    "metrics_not_found": None,
    "metrics_not_found_reason": None,
    "warnings": None,
    "log": "jobs/sweep-1/logs/job-001/12_0_0_log.out",
    "error": None,
    "times_s": np.array(()),
}
MEASURED = (
    "interference",
    "steady",
    "drift",
    "effective_intra_op_threads",
    "parameter_count",
    "flops_per_item",
    "items_per_step",
    "math_mode",
    "held_out",
    *WORKLOAD,
    "peak_memory_bytes",
)


@pytest.fixture
def repetition() -> Callable[..., Row]:
    """One completed run of a case, with what is changed; `failed` leaves out what was measured."""

    def make(case: int = 0, number: int = 0, times_s: Any = (0.2, 0.1, 0.3), **changes: Any) -> Row:
        own = {"case": f"case-{case}", "case_index": case, "run": number}
        if changes.get("status", "completed") != "completed":
            return {**USUAL, **own, **dict.fromkeys(MEASURED), "error": "it broke", **changes}
        return {**USUAL, **own, "times_s": np.asarray(times_s, dtype=np.float64), **changes}

    return make


@pytest.fixture
def table() -> Callable[..., pd.DataFrame]:
    """A frame of runs with the types that the collecting stage gives."""

    def make(*rows: Row) -> pd.DataFrame:
        frame = pd.DataFrame(list(rows))
        return frame.astype(dict.fromkeys(WHOLE, "Int64"))

    return make


class Tables(NamedTuple):
    """Those of a report."""

    cases: pd.DataFrame
    repetitions: pd.DataFrame


SETTINGS: Row = {**dict.fromkeys(CHOICES), "instances": 1, "physical_cores_per_task": None}


@pytest.fixture
def matrix(repetition: Callable[..., Row], table: Callable[..., pd.DataFrame]) -> Callable[..., Tables]:
    """A case for each combination of the axes' values; `times_of` gives the seconds of each of its runs, or
    nothing where there is no such case."""

    def make(times_of: Callable[..., Any], **axes: list[Any]) -> Tables:
        points = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
        rows = [
            repetition(place, number, [time_s], **{**SETTINGS, **point})
            for place, point in enumerate(points)
            for number, time_s in enumerate(times_of(**point) or ())
        ]
        repetitions = table(*rows)
        return Tables(case_table(repetitions), repetitions)

    return make
