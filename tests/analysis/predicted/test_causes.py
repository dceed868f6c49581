"""The conditions of a measurement that its prediction does not have."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.analysis.predicted.causes import differences
from hpcbench.analysis.predicted.columns import CLOCK

USUAL = {
    "framework": "pytorch",
    "device": "cpu",
    "execution": "eager",
    "interference": "clean",
    "intra_op_threads": 4,
    "effective_intra_op_threads": 4,
    "physical_cores_per_task": 4,
    "cpu_governor": "performance",
}


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, []),
        ({"interference": "interference"}, ["all runs had interference"]),
        ({"effective_intra_op_threads": 2}, ["2 threads in effect instead of 4"]),
        ({"physical_cores_per_task": 2}, ["4 threads on 2 physical cores"]),
        ({"physical_cores_per_task": 1}, ["4 threads on 1 physical core"]),
        ({"intra_op_threads": None, "effective_intra_op_threads": 8}, ["8 threads on 4 physical cores"]),
        ({"cpu_governor": "powersave"}, ["CPU frequency governor powersave"]),
        ({"execution": "graph"}, ["graph execution, predicted as eager"]),
        ({"execution": "compiled"}, []),
        ({"framework": "jax", "execution": None}, ["jax, predicted with the operators of PyTorch"]),
        ({"device": "gpu", "physical_cores_per_task": 1, "cpu_governor": "powersave"}, []),
        ({"device": "gpu", "gpu_clock_mhz": 960.0, CLOCK: 1410.0}, ["mean GPU clock 960 MHz, boost clock 1,410 MHz"]),
        ({"device": "gpu", "gpu_clock_mhz": 1400.0, CLOCK: 1410.0}, []),
        ({"device": "gpu", "gpu_clock_mhz": 960.0, CLOCK: None}, []),
        (dict.fromkeys(("intra_op_threads", "physical_cores_per_task", "cpu_governor", "execution")), []),
    ],
)
def test_a_case_names_what_its_prediction_does_not_know(changes: dict[str, Any], found: list[str]) -> None:
    assert list(differences({**USUAL, **changes})) == found
