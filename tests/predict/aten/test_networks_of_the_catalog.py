"""Every operator of every shipped network is converted, with the FLOPs that PyTorch's own counter finds."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pandas as pd
import pytest

from hpcbench.config.parameters import Parameters
from hpcbench.models.catalog import MODELS
from hpcbench.node.launch.ranks import Ranks
from hpcbench.node.launch.rendezvous import Group
from hpcbench.node.workload import problem
from hpcbench.predict.aten.convert import converted
from hpcbench.predict.tables import operators as table

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="PyTorch is not installed; not run: conversion of the lists of shipped networks")

from hpcbench.node.frameworks import load  # noqa: E402 - it needs torch

MOST_UNKNOWN = 0.01  # of the bytes
WITH_FLOPS = (
    *(table.GEMM, table.BATCHED_GEMM, table.CONV, table.CONV_INPUT_GRADIENT, table.CONV_WEIGHT_GRADIENT),
    *(table.ATTENTION, table.RNN),
)
CAUSAL = ("gpt",)  # PyTorch counts the masked half of attention, too


@pytest.mark.parametrize("task", ["inference", "training"])
@pytest.mark.parametrize("model", MODELS)
def test_operators_are_known(model: str, task: str) -> None:
    given: dict[str, Any] = {"framework": "pytorch", "model": model, "task": task, "batch_size": 2}
    case = problem.of_case(Parameters.model_validate(given).planned(), Group(Ranks(0, 1)))
    listed = pd.DataFrame([asdict(each) for each in load("pytorch").operators_of(case).operators])
    found = converted(listed)
    calls = listed["calls"].to_numpy()[found["origin"]]
    moved = found["bytes"] * calls
    assert moved[found["kind"] == table.UNKNOWN].sum() <= MOST_UNKNOWN * moved.sum()
    flops = (found["flops"] * calls)[found["kind"].isin(WITH_FLOPS)].sum()
    counted = (listed["flops"].fillna(0).astype("float64") * listed["calls"]).sum()
    assert flops == pytest.approx(counted, rel=0.1 if model in CAUSAL else 1e-9)
