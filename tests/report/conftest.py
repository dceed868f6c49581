"""Tables of cases, as the analysis hands them over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hpcbench.analysis.stats.quantiles import PERCENTILES
from tests.workload_columns import WORKLOAD

WHOLE = ["intra_op_threads", "parameter_count", "flops_per_item", "peak_memory_bytes"]

MEASURED = {
    "time_median_s": 0.0291,
    "time_ci_low_s": 0.0288,
    "time_ci_high_s": 0.0296,
    **dict.fromkeys(PERCENTILES),
    "throughput_items_per_s": 1099.7,
    "tflops_per_device": 0.5,
    "tflops_per_device_6n": None,
    "speedup": 1.0,
    "speedup_base": "sweep-1/case-0",
    "parameter_count": 1234567,
    "flops_per_item": 2**40 + 1,
    "peak_memory_bytes": 2**33,
    "math_mode": "matmul highest",
    "held_out": 0.2,
    **WORKLOAD,
}


def _row(number: int, changes: dict[str, Any]) -> dict[str, Any]:
    failed = "status" in changes
    return {
        "sweep": "sweep-1",
        "case": f"case-{number}",
        "case_index": number,
        "status": "completed",
        "framework": "pytorch",
        "framework_version": "2.13.0+cpu",
        "model": "mlp",
        "model_options": None,
        "user_workload": None,
        "items_per_step": 32,
        "task": "training",
        "device": "cpu",
        "dtype": "float32",
        "execution": "eager",
        "held_out": 0.2,
        **WORKLOAD,
        "batch_size": 32,
        "nodes": 1,
        "experiment": "study",
        "intra_op_threads": None,
        "runs": 0 if failed else 3,
        "measurements": 0 if failed else 90,
        "effective_measurements": None if failed else 90,
        **(dict.fromkeys(MEASURED) if failed else MEASURED),
        "interference": None if failed else "clean",
        "interference_runs": 0,
        "metrics_not_found": None,
        "metrics_not_found_reason": None,
        "unmonitored": 0,
        "nodes_used": "n1",
        "warnings": None,
        "log": "jobs/sweep-1/logs/job-001/12_0_0_log.out",
        "error": "it broke" if failed else None,
        **changes,
    }


@pytest.fixture
def make_cases() -> Callable[..., pd.DataFrame]:
    """A frame with one row for each dictionary of changes; one with a status of its own was not measured."""

    def make(*changes: dict[str, Any]) -> pd.DataFrame:
        frame = pd.DataFrame([_row(number, change) for number, change in enumerate(changes)])
        numbers = ["time_median_s", "time_ci_low_s", "time_ci_high_s", "throughput_items_per_s", "speedup"]
        numbers += PERCENTILES
        return frame.astype({**dict.fromkeys(WHOLE, "Int64"), **dict.fromkeys(numbers, np.float64)})

    return make
