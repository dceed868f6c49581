"""What `make bench-predict-here` compares predictions with."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pandas as pd
import pytest

from hpcbench.config.devices.table import DeviceTable
from hpcbench.predict.devices.known import KnownDevices

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # as for a script of that folder
import predict_here_data


def run(case: str, times_s: list[float], status: str = "completed", interference: str = "clean") -> dict[str, object]:
    return {
        "case": case,
        "status": status,
        "times_s": times_s,
        "model": "mlp",
        "task": "inference",
        "batch_size": 8,
        "model_options": "{}",
        "param_what": "size",
        "interference": interference,
    }


def test_a_case_has_the_mean_of_its_runs_and_their_difference() -> None:
    runs = [run("a", [0.9, 1.0, 9.0]), run("a", [1.5], interference="interference"), run("b", [2.0])]
    runs += [run("b", [math.nan], "failed")]
    measured = predict_here_data.Measured(
        {"others": pd.DataFrame(runs)}, pd.DataFrame(), KnownDevices(DeviceTable({}, {}), {})
    )
    found = measured.cases.set_index("case")
    assert found["time_s"].to_dict() == {"a": 1.25, "b": 2.0}
    assert found.loc["a", "difference"] == pytest.approx(0.5 / 1.25)
    assert math.isnan(found.loc["b", "difference"])
    assert found["interference"].to_dict() == {"a": True, "b": False}
