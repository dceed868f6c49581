"""Models of users' functions in PyTorch, from the experiment to the record and the log."""

from __future__ import annotations

import os
from typing import Any

import pytest

pytestmark = pytest.mark.torch
NETS = """
import os
from torch import nn

def of_rank():
    return nn.Sequential(nn.Flatten(), nn.Linear(12, 2 + int(os.environ["HPCBENCH_RANK"])))

def ends():
    raise SystemExit("HF_HUB_OFFLINE=" + os.environ["HF_HUB_OFFLINE"])
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs; not run: two instances of a function")
def test_failures_of_functions_name_the_cause_and_are_in_the_log(command_line: Any) -> None:
    (command_line.workspace / "nets.py").write_text(NETS)
    command_line.environment["HF_HUB_OFFLINE"] = "0"  # instead of hpcbench's own value
    both = {"model": "nets:of_rank", "cpus_per_task": 2, "instances": 2}
    experiment = command_line.experiment(
        parameters={"model_options": {}, "input": {"shape": [3, 2, 2]}, "intra_op_threads": 1},
        include=[both, {"model": "nets:ends"}],
    )
    command_line("sweep", experiment, "--site", command_line.site(), "--no-fail-fast", expect=1)
    errors = {record["parameters"]["model"]: record["error"] for record in command_line.records()}
    differs = "'nets:of_rank' builds different models on ranks 0 and 1"
    ended = "nets:ends cannot be built: SystemExit: HF_HUB_OFFLINE=0"
    assert {name: (error["type"], error["message"]) for name, error in errors.items()} == {
        "nets:of_rank": ("model", differs),
        "nets:ends": ("model", ended),
    }
    log = command_line("logs", "--failed").stdout
    assert "in ends\n    raise SystemExit(" in log, "the traceback"
