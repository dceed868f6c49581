"""Every framework on real GPUs. Its environments are the site's own: the ones built here are for CPUs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hpcbench.node import catalog

SITE = os.environ.get("HPCBENCH_GPU_SITE")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(
        not SITE or not Path("/dev/nvidiactl").exists(),
        reason="not run: the frameworks on a GPU; they need one, and HPCBENCH_GPU_SITE=FILE, a site file whose "
        "environments have GPU builds",
    ),
]


@pytest.mark.parametrize("framework", catalog.FRAMEWORKS)
def test_a_framework_infers_and_trains_on_a_gpu(framework, command_line):
    experiment = command_line.experiment(
        parameters={"framework": framework, "device": "gpu", "batch_size": 8, "model_options": {}},
        matrix={"task": ["inference", "training"], "model": ["mlp", "lstm", "resnet50", "transformer"]},
    )
    command_line("sweep", experiment, "--local", "--site", str(SITE))
    for record in command_line.records():
        assert record["gpus"], "the record names the GPUs"
        assert record["peak_device_bytes"] is None or record["peak_device_bytes"] > 0
