"""Validation and profile of models that are not shipped: a function of the user, and a library."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from tests.conftest import CommandLine

NETS = """
from torch import nn

def build(width=8):
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 6 * 6, width), nn.GELU(),
        nn.Linear(width, 5),
    )
"""
TASKS = {"task": ["inference", "training"]}


def experiment(command_line: CommandLine, matrix: dict[str, Any], **parameters: Any) -> str:
    """Write an experiment of a model, and the file `nets.py`; return its name."""
    (command_line.workspace / "nets.py").write_text(NETS)
    name = command_line.experiment(matrix=matrix)
    path = command_line.workspace / name
    path.write_text(json.dumps({**json.loads(path.read_text()), "parameters": {"framework": "pytorch", **parameters}}))
    return name


def own(command_line: CommandLine, matrix: dict[str, Any], **parameters: Any) -> str:
    return experiment(command_line, matrix, model="nets:build", input={"shape": [3, 8, 8]}, batch_size=4, **parameters)


@pytest.mark.torch
@pytest.mark.long
def test_a_compiled_model_of_a_function_is_validated(command_line: CommandLine) -> None:
    name = own(command_line, TASKS, validate=True, execution="compiled")
    command_line("sweep", name, "--set", "slurm.time=00:10:00", "--site", command_line.site(), "--local", "--name", "v")
    records = command_line.records()
    assert [record["status"] for record in records] == ["completed"] * 2
    for record in records:
        found = record["validation"]
        assert (found["verdict"], found["reason"]) == ("passed", None)
        assert 0 < found["worst"]["bound_ratio"] < 1
        assert found["repeatability"]["bitwise"]
    of_training = next(record for record in records if record["parameters"]["task"] == "training")
    assert len(of_training["validation"]["arrays"]) > 1, "the loss and gradients"


def profiled(command_line: CommandLine, name: str, *options: str) -> pd.DataFrame:
    """The rows of the operators of a profile, whose sums are those of its report."""
    command_line("profile", name, "--power", "off", "--local", "--name", "p", *options)
    frame = pd.read_parquet(command_line.workspace / "results" / "p" / "operators.parquet")
    reported = json.loads(command_line("report", "p", "--json").stdout)["operators"]
    assert len(reported) == frame["case"].nunique() == 2
    operators = frame[~frame["kind"].isin(["network", "idle"])]
    call_s = operators["stream_s"].fillna(operators["in_network_s"]).fillna(operators["hot_s"])
    sums = sorted((call_s * operators["calls_per_step"]).groupby(operators["case"]).sum())
    assert sorted(each["sum_of_operators_s"] for each in reported) == pytest.approx(sums)
    for each in reported:
        assert each["step_time_s"] > 0
        assert each["framework_overhead"] == pytest.approx(1 - each["sum_of_operators_s"] / each["step_time_s"])
    assert (operators["hot_s"].notna() | operators["reason"].notna()).all()
    return operators


def forward(operators: pd.DataFrame, kind: str) -> list[int]:
    """Calls per step of the operators of a kind in the forward passes of inference."""
    rows = operators[(operators["kind"] == kind) & (operators["task"] == "inference")]
    return [int(calls) for calls in rows["calls_per_step"]]


@pytest.mark.torch
def test_the_operators_of_a_function_are_profiled(command_line: CommandLine) -> None:
    operators = profiled(command_line, own(command_line, TASKS), "--site", command_line.site())
    assert {kind: sum(forward(operators, kind)) for kind in ("conv2d", "gemm", "relu", "gelu", "batch_norm")} == {
        "conv2d": 1,
        "gemm": 2,
        "relu": 1,
        "gelu": 1,
        "batch_norm": 1,
    }
    training = operators[operators["task"] == "training"]
    assert {"forward", "backward", "optimizer"} <= set(training["phase"])


@pytest.mark.long
def test_the_operators_of_a_model_of_a_library_are_profiled(with_environments: Callable[..., CommandLine]) -> None:
    command_line = with_environments("pytorch-zoo")
    model = {"model": "torchvision/resnet18", "input": {"shape": [3, 32, 32]}, "batch_size": 2}
    operators = profiled(command_line, experiment(command_line, TASKS, **model), "--set", "slurm.time=00:10:00")
    assert sum(forward(operators, "conv2d")) == 20, "17 of 3 x 3 or 7 x 7, and three of 1 x 1"
    assert sum(forward(operators, "batch_norm")) == 20
    assert sum(forward(operators, "relu")) == 17
    assert sum(forward(operators, "gemm")) == 1
    assert (operators[operators["kind"] == "conv2d"]["flops"] > 0).all()
