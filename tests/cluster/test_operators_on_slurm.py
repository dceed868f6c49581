"""Operators, parts of a training step, the input pipeline and a profile on a real Slurm, with the real PyTorch."""

from __future__ import annotations

import json
import shutil

import pandas as pd
import pytest

from hpcbench.util.package_data import shipped
from tests.cluster.conftest import on
from tests.conftest import CommandLine

MLP = {"model": "mlp", "model_options": {"input_size": 64, "hidden_size": 16, "classes": 10}}
FLOATS = 5000
STEPS = 4  # of a trajectory
CASES = [
    {"task": "operator", "operator": "gemm", "sizes": {"m": 16, "n": 8, "k": 24}, "phase": "both", "validate": True},
    {"task": "operator", "operator": "all_reduce", "sizes": {"floats": FLOATS}, "nodes": 2, "validate": True},
    {**MLP, "task": "backward", "validate": True},
    {**MLP, "task": "training", "cpus_per_task": 2, "intra_op_threads": [1, 2]},
    {**MLP, "task": "input_pipeline", "data": {"npz": "configs/data/digits.npz"}, "batch_size": 32},
]


@pytest.fixture(scope="module")
def finished(tmp_path_factory, accounting_cluster):
    """A workspace with two sweeps that Slurm ran: `levels`, and `profile` with the operators of a network."""
    command_line = on(CommandLine(tmp_path_factory.mktemp("levels")), accounting_cluster)
    (command_line.workspace / "configs" / "data").mkdir(parents=True)
    shutil.copy(shipped("configs") / "data" / "digits.npz", command_line.workspace / "configs" / "data")
    file = command_line.workspace / command_line.experiment("levels", measure={"trajectory": {"steps": STEPS}})
    file.write_text(
        json.dumps({**json.loads(file.read_text()), "parameters": {"framework": "pytorch"}, "include": CASES})
    )
    command_line("sweep", "levels.yaml", "--name", "levels")  # its jobs run next to those of the profile
    inference = command_line.experiment("inference", parameters={"task": "inference"})
    command_line("profile", inference, "--name", "profile", "--wait")
    command_line("resume", "levels", "--wait")
    return command_line


@pytest.fixture(scope="module")
def rows(finished):
    """The row of each case of `levels`, by its operator or task."""
    return {row["operator"] or row["task"]: row for row in finished.report("levels")}


@pytest.mark.parametrize("name", ["gemm", "all_reduce", "backward"])
def test_operators_and_gradients_are_validated_in_a_job(name, rows):
    assert (rows[name]["validation"], rows[name]["validation_reason"]) == ("passed", "")
    assert 0 <= float(rows[name]["error_bound_ratio"]) < 1


def test_all_reduce_of_two_nodes_has_the_bus_bandwidth(rows, finished):
    row = rows["all_reduce"]
    (record,) = (each for each in finished.records() if each["parameters"].get("operator") == "all_reduce")
    assert len({rank["host"] for rank in record["ranks"]}) == 2
    assert int(row["bus_bytes_per_item"]) == 4 * FLOATS, "2 (n - 1) / n of the array"
    assert float(row["bus_gb_per_s"]) == pytest.approx(4 * FLOATS / float(row["time_median_s"]) / 1e9, rel=1e-6)


def test_the_input_pipeline_delivers_items_from_a_file(rows):
    assert float(rows["input_pipeline"]["throughput_items_per_s"]) > 0


def test_trajectories_of_two_jobs_are_compared(finished):
    (pair,) = json.loads(finished("report", "levels", "--json").stdout)["divergences"]
    assert pair["reason"] is None
    assert pair["steps"] == [0, 1, 2, STEPS]
    assert pair["relative_l2"] == pytest.approx([0] * 4, abs=1e-6), "one and two threads differ by rounding"


def test_a_profile_in_a_job_has_a_table_of_operators(finished):
    frame = pd.read_parquet(finished.workspace / "results" / "profile" / "operators.parquet")
    gemms = frame[frame["kind"] == "gemm"]
    assert len(gemms) > 0
    assert (gemms["stream_s"] > 0).all()
