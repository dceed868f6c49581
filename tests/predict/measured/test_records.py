"""Runs of sweeps in the predictor's tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.predict.measured import records
from hpcbench.predict.measured.records import recorded
from hpcbench.predict.tables import networks
from hpcbench.predict.tables import operators as table

RUN = {
    "case": "c1",
    "status": "completed",
    "interference": "clean",
    "throttled": False,
    "task": "training",
    "framework": "pytorch",
    "framework_version": "2.13.0",
    "model": "resnet50",
    "model_options": None,
    "operator": None,
    "sizes": None,
    "phase": None,
    "strategy": "single",
    "device": "gpu",
    "dtype": "bfloat16",
    "execution": "eager",
    "optimizer": "adamw",
    "batch_size": 8,
    "nodes": 1,
    "tasks_per_node": 1,
    "gpu_model": "GPU X",
    "cpu_model": "CPU Y",
    "effective_intra_op_threads": 4,
    "parameter_count": 25_000_000,
    "flops_per_item": 24e9,
    "items_per_step": 8,
    "input_shapes": '{"input": [8, 3, 224, 224]}',
    "energy_gpu_j_per_item": 5.0,
    "energy_cpu_j_per_item": 1.0,
    "times_s": np.array([0.1, 0.2, 0.4]),
}
GEMM = {"task": "operator", "operator": "gemm", "sizes": '{"m": 4, "n": 5, "k": 6}', "phase": "forward", "model": None}


def runs(*changes: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame([{**RUN, **each} for each in changes])


def test_a_network_on_a_gpu() -> None:
    (found,) = recorded(runs({}), "sweep").networks.to_dict("records")
    assert (found["network"], found["phase"], found["dtype"], found["execution"]) == (
        "resnet50",
        networks.TRAINING,
        "bfloat16",
        networks.EAGER,
    )
    assert (found["device"], found["library"], found["optimizer"]) == ("GPU X", "pytorch 2.13.0", "adamw")
    assert (found["time_s"], found["energy_j"], found["power_w"]) == (0.2, 40, 200)
    assert (found["image_size"], found["batch_size"], found["mparams"]) == (224, 8, 25)
    assert found["gmacs"] == 4  # of the forward pass: a third of the training's FLOPs, at 2 FLOPs per MAC
    assert math.isnan(found["threads"])
    assert found["list_id"] == ""


def test_a_network_on_cpus() -> None:
    changes = {"device": "cpu", "task": "inference", "input_shapes": '{"input": [8, 128]}'}
    (found,) = recorded(runs(changes), listed=["c1"]).networks.to_dict("records")
    assert (found["device"], found["threads"], found["energy_j"], found["gmacs"]) == ("CPU Y", 4, 8, 12)
    assert (found["sequence_length"], found["optimizer"], found["list_id"]) == (128, "", "c1")


def test_an_operator() -> None:
    found = recorded(runs({**GEMM, "items_per_step": 1}), "sweep").operators
    (row,) = found.to_dict("records")
    assert list(found.columns) == list(table.COLUMNS)
    assert (row["kind"], row["m"], row["n"], row["k"], row["dtype"]) == (table.GEMM, 4, 5, 6, "bfloat16")
    assert (row["time_s"], row["timing"], row["energy_j"], row["file"]) == (0.2, table.CALL, 5, "sweep")
    assert row["bytes"] == 2 * (24 + 30 + 20)


def test_both_gradients_share_the_time() -> None:
    found = recorded(runs({**GEMM, "phase": "both"})).operators
    assert found["time_s"].tolist() == [0.1, 0.1]


def test_other_runs_are_left_out_and_counted() -> None:
    found = recorded(
        runs(
            {"status": "failed", "times_s": np.array([])},
            {"interference": "interference"},
            {"interference": "interference", "throttled": True},
            {"interference": "unmonitored", "throttled": True},
            {"tasks_per_node": 2},
            {"strategy": "ddp"},
            {"instances": 2},
            {"task": "input_pipeline"},
            {"task": None, "framework": "command"},
            {**GEMM, "operator": "lstm_cell", "sizes": "{}"},
            {**GEMM, "operator": "python:tanh.py"},
            {**GEMM, "sizes": '{"unknown": 1}'},
        )
    )
    assert (len(found.networks), len(found.operators)) == (0, 0)
    assert found.left_out == {
        records.NOT_COMPLETED: 1,
        records.CONTAMINATED: 1,
        records.THROTTLED: 2,
        records.SEVERAL: 3,
        records.OTHER_TASK: 2,
        records.UNKNOWN: 3,
    }
