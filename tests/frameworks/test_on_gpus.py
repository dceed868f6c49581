"""Every framework on real GPUs. Its environments are the site's own: the ones built here are for CPUs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hpcbench.core.frameworks import DTYPES, FRAMEWORKS, TRAINING_FRAMEWORKS

SITE = os.environ.get("HPCBENCH_GPU_SITE")

if not SITE or not any(map(os.path.exists, ("/dev/nvidiactl", "/dev/kfd"))):
    reason = "they need one, and HPCBENCH_GPU_SITE=FILE, a site file whose environments have GPU builds"
    pytest.skip(f"not run: the frameworks on a GPU; {reason}", allow_module_level=True)

pytestmark = pytest.mark.gpu
EXECUTIONS = [(name, how) for name in TRAINING_FRAMEWORKS for how in FRAMEWORKS[name].executions]
MODELS = ["mlp", "lstm", "resnet50", "transformer"]
# Whose memory is not known, so that nothing tells here whether its weights are on the GPU.
SILENT = {"mxnet"}


@pytest.fixture
def records(command_line):
    """The records of a matrix of cases of a framework, on a GPU unless told otherwise."""

    def run(framework, execution=None, *, matrix, expect=0, **parameters):
        given = {"device": "gpu", "batch_size": 8, "model_options": {}, **parameters}
        given["execution"] = execution or FRAMEWORKS[framework].executions[0]
        experiment = command_line.experiment(parameters={"framework": framework, **given}, matrix=matrix)
        command_line("sweep", experiment, "--local", "--site", str(Path(str(SITE)).absolute()), expect=expect)
        return command_line.records()

    return run


def check_on_gpu(record):
    assert record["status"] == "completed", record["error"]
    assert record["gpus"], "the record names the GPUs"
    if record["parameters"]["framework"] in SILENT:
        assert record["peak_device_bytes"] is None
    else:
        weights = 4 if record["parameters"]["task"] == "training" else 2  # bytes of each, at least
        assert record["peak_device_bytes"] >= weights * record["work"]["parameter_count"], "its weights are on the GPU"


@pytest.mark.parametrize(("framework", "execution"), EXECUTIONS)
def test_a_framework_infers_and_trains_on_a_gpu(framework, execution, records):
    for record in records(framework, execution, matrix={"task": ["inference", "training"], "model": MODELS}):
        check_on_gpu(record)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("framework", TRAINING_FRAMEWORKS)
def test_a_number_format_works_on_a_gpu_or_is_unsupported_with_a_reason(framework, dtype, records):
    matrix = {"task": ["inference", "training"], "model": MODELS}
    for record in records(framework, dtype=dtype, matrix=matrix, expect=None):
        if record["status"] == "unsupported":
            assert dtype in record["error"]["message"]
            assert dtype != "float32"
        else:
            check_on_gpu(record)
            assert record["work"]["dtype"] == dtype


@pytest.mark.parametrize("framework", TRAINING_FRAMEWORKS)
def test_on_the_cpu_no_gpu_is_seen(framework, records):
    for record in records(framework, device="cpu", matrix={"task": ["inference", "training"]}):
        assert record["status"] == "completed", record["error"]
        assert record["gpus"] == []
        assert record["peak_device_bytes"] is None
