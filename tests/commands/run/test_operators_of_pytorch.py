"""A sweep of operators on this machine, with the real PyTorch, from the file to the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import OWN, CommandLine

pytestmark = pytest.mark.torch

CONV = {"n": 1, "c_in": 2, "h": 6, "w": 7, "c_out": 3}
SOFTMAX = {"rows": 16, "columns": 9}
# Replaces a function of PyTorch in the worker, whose results then are what is planted.
SITECUSTOMIZE = """
import sys

if "work" in sys.orig_argv:
    import torch
    from torch.nn import functional

    conv2d, softmax = functional.conv2d, functional.softmax
    functional.conv2d = lambda x, kernel, **options: conv2d(x, kernel.flip(-1), **options)
    functional.softmax = lambda x, dim: softmax(x, dim).masked_fill(torch.arange(x.shape[1]) == 4, float("nan"))
"""
ZIP = [{"operator": ["conv2d", "softmax"], "sizes": [CONV, SOFTMAX], "phase": ["both", "forward"]}]


def experiment(command_line: CommandLine) -> str:
    name = command_line.experiment(zip=ZIP)
    path = command_line.workspace / name
    operators = {"framework": "pytorch", "task": "operator", "validate": True}
    path.write_text(json.dumps({**json.loads(path.read_text()), "parameters": operators}))
    return name


@pytest.fixture(scope="module")
def operators(tmp_path_factory: pytest.TempPathFactory) -> CommandLine:
    """A workspace in which a sweep of two operators has ended."""
    command_line = CommandLine(tmp_path_factory.mktemp("operators"))
    command_line("sweep", experiment(command_line), "--site", command_line.site(), "--local", "--name", "right")
    return command_line


def test_operators_complete_with_a_validation(operators: CommandLine) -> None:
    records = sorted(operators.records(), key=lambda record: record["parameters"]["operator"])
    assert [record["status"] for record in records] == ["completed"] * 2
    assert [record["validation"]["verdict"] for record in records] == ["passed"] * 2
    conv, softmax = (record["validation"] for record in records)
    assert list(conv["arrays"]) == ["output", "x", "kernel"]
    assert conv["gradient_check"]["dtype"] == "float64"
    assert softmax["gradient_check"] is None
    assert conv["repeatability"]["threads_bitwise"] is not None
    assert records[0]["parameters"]["sizes"] == CONV


def test_tables_have_the_errors_and_the_verdict(operators: CommandLine) -> None:
    rows = sorted(operators.report("right"), key=lambda row: row["operator"])
    assert [row["operator"] for row in rows] == ["conv2d", "softmax"]
    for row in rows:
        assert row["validation"] == "passed"
        assert 0 < float(row["error_max"]) < 1e-5
        assert 0 < float(row["error_bound_ratio"]) < 1
        assert float(row["error_ulps"]) > 0
    assert float(rows[0]["gradient_check_error"]) < 1e-6
    assert float(rows[0]["flops_per_item"]) == 2 * 2 * (3 * 6 * 7) * (2 * 9)


def test_the_report_prints_operators(operators: CommandLine) -> None:
    told = operators("report", "right").stdout
    assert "conv2d" in told
    assert "softmax" in told
    assert "passed" in told


def test_wrong_results_of_functions_that_are_planted_in_pytorch_fail_the_case(
    command_line: CommandLine, tmp_path: Path
) -> None:
    (tmp_path / "planted").mkdir()
    (tmp_path / "planted" / "sitecustomize.py").write_text(SITECUSTOMIZE)
    environment = {**OWN, "env": {"PYTHONPATH": str(tmp_path / "planted")}}
    site = command_line.site(environments={"pytorch": environment})
    words = ("--site", site, "--local", "--no-fail-fast", "--name", "wrong")
    command_line("sweep", experiment(command_line), *words, expect=1)
    records = sorted(command_line.records(), key=lambda record: record["parameters"]["operator"])
    assert [record["status"] for record in records] == ["failed"] * 2
    assert [record["error"]["type"] for record in records] == ["validation"] * 2
    conv, softmax = (record["error"]["message"] for record in records)
    assert conv.startswith("the error of the output is ")
    assert all(error["bound_ratio"] > 1 for error in records[0]["validation"]["arrays"].values())
    assert " times the bound of rounding errors, at index " in conv
    assert softmax == "the output is nan at index [0, 4]"
    assert [record["validation"]["verdict"] for record in records] == ["failed"] * 2
    rows = {row["operator"]: row for row in command_line.report("wrong", expect=1)}
    assert {row["validation"] for row in rows.values()} == {"failed"}
    assert "the output is nan at index [0, 4]" in command_line("report", "wrong", expect=1).stdout


def all_reduce(command_line: CommandLine, **changes: object) -> str:
    name = command_line.experiment()
    parameters = {"framework": "pytorch", "task": "operator", "operator": "all_reduce", "validate": True, **changes}
    sizes = {"sizes": [{"floats": 5}, {"floats": 100_000}]}
    path = command_line.workspace / name
    path.write_text(json.dumps({**json.loads(path.read_text()), "parameters": parameters, "matrix": sizes}))
    return name


def test_two_tasks_reduce_their_arrays_and_the_report_has_the_bus_bandwidth(command_line: CommandLine) -> None:
    experiment = all_reduce(command_line, tasks_per_node=2, oversubscribe=True)
    command_line("sweep", experiment, "--site", command_line.site(), "--local", "--name", "sums")
    for record in command_line.records():
        assert (record["status"], record["validation"]["verdict"]) == ("completed", "passed")
        assert record["validation"]["repeatability"]["thread_counts"] == []
        floats = record["parameters"]["sizes"]["floats"]
        work = record["work"]
        assert (work["items_per_step"], work["bus_bytes_per_item"], work["bytes_per_item"]) == (
            1,
            4 * floats,
            8 * floats,
        )
    for row in command_line.report("sums"):
        bytes_per_s = 4 * json.loads(row["sizes"])["floats"] / float(row["time_median_s"])
        assert float(row["bus_gb_per_s"]) == pytest.approx(bytes_per_s / 1e9, rel=1e-6)
        assert float(row["gb_per_s_per_device"]) == pytest.approx(2 * bytes_per_s / 1e9, rel=1e-6)
    assert "bus GB/s" in command_line("report", "sums").stdout
