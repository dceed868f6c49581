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

NO_DEVICES = KnownDevices(DeviceTable({}, {}), {})


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


def cases(*runs: dict[str, object]) -> pd.DataFrame:
    measured = predict_here_data.Measured({"others": pd.DataFrame(runs)}, pd.DataFrame(), NO_DEVICES)
    return measured.cases.set_index("case")


def test_a_case_has_the_mean_of_its_runs_and_their_difference() -> None:
    found = cases(run("a", [0.9, 1.0, 9.0]), run("a", [1.5]), run("b", [2.0]), run("b", [math.nan], "failed"))
    assert found["time_s"].to_dict() == {"a": 1.25, "b": 2.0}
    assert found.loc["a", "difference"] == pytest.approx(0.5 / 1.25)
    assert math.isnan(found.loc["b", "difference"])
    assert not found["interference"].any()


def test_runs_with_interference_count_only_without_other_runs() -> None:
    disturbed = {"interference": "interference"}
    found = cases(run("a", [1.0]), run("a", [1.5], **disturbed), run("b", [2.0], **disturbed))
    assert found["time_s"].to_dict() == {"a": 1.0, "b": 2.0}
    assert found["interference"].to_dict() == {"a": False, "b": True}
