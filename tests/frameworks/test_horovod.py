"""Horovod under PyTorch, in its own environment."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from hpcbench.node.variables import for_worker
from hpcbench.submit.node_code import node_zipapp

SCRIPT = Path(__file__).with_name("horovod_probe.py")
RANKS = 2


def test_in_float16_the_gradients_of_all_ranks_are_unscaled_once_they_are_together(tmp_path, environment_python):
    """One rank's infinite loss skips the step of both; the next step is that of the mean."""
    archive = tmp_path / "node.pyz"
    archive.write_bytes(node_zipapp())
    variables = for_worker({"framework": "pytorch", "device": "cpu", "intra_op_threads": 1}, os.environ)
    place = {"HPCBENCH_RANKS": str(RANKS), "HPCBENCH_LAUNCHER": str(os.getpid()), "PYTHONPATH": str(archive)}
    ranks = [
        subprocess.Popen(
            [environment_python("horovod-pytorch"), SCRIPT],
            env={**variables, **place, "HPCBENCH_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(RANKS)
    ]
    try:
        said = [rank.communicate(timeout=120) for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
    assert [rank.returncode for rank in ranks] == [0] * RANKS, "\n".join(error for _, error in said)
    assert [json.loads(output) for output, _ in said] == [{"untouched": True, "is_mean": True}] * RANKS
