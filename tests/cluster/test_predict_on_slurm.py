"""`hpcbench sweep --predict` on a real Slurm, which names the nodes and GPUs of each partition."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hpcbench.core.machine_peaks import MachinePeaks, Peak
from hpcbench.store.machine_peaks import keep_peaks
from hpcbench.store.workspace import Workspace
from tests.conftest import CommandLine

CPU_MODEL = "AMD EPYC 7763 64-Core Processor"
GPU = {  # Slurm's type of the GPUs of n3 and n4 is `fake`
    "names": ["fake"],
    "vendor": "NVIDIA",
    "architecture": "Made-up",
    "year": 2022,
    "process_nm": 7,
    "units": 100,
    "lanes_per_unit": 64,
    "base_mhz": 900,
    "boost_mhz": 1500,
    "fp32_tflops": 19.2,
    "l2_mb": 40,
    "matrix_tflops": {"float16": 300},
    "memory_gb": 40,
    "memory_gb_per_s": 1500,
    "board_power_w": 300,
    "source": "made up",
}


@pytest.fixture
def predicted(bare_cluster: CommandLine) -> Any:
    """Return the predictions of a sweep of one case, or the error without the line breaks."""

    def run(partition: str, device: str = "cpu", expect: int = 0, **slurm: str) -> Any:
        on_gpu = {"device": "gpu", "gpus_per_task": 1} if device == "gpu" else {"device": "cpu"}
        file = bare_cluster.experiment(parameters=on_gpu, slurm={"partition": partition, **slurm})
        done = bare_cluster("sweep", file, "--predict", "--dry-run", "--json", expect=expect)
        return " ".join(done.stderr.split()) if expect else json.loads(done.stdout)["predictions"]

    return run


def measure(command_line: CommandLine, host: str) -> None:
    """Keep peaks as `hpcbench doctor --on-node` measures them on a node."""
    peak = Peak("cpu", 2, "float32", 1e11, 2e10, "numpy", host, "2026-11-30T12:00:00+00:00")
    keep_peaks(Workspace(command_line.workspace), MachinePeaks(CPU_MODEL, 2, None, (peak,)))


def test_cpus_of_a_partition_are_those_of_its_measured_node(bare_cluster: CommandLine, predicted: Any) -> None:
    assert "the device of partition 'gpu' is unknown" in predicted("gpu", expect=2)
    measure(bare_cluster, "n1")
    assert "the device of partition 'gpu' is unknown" in predicted("gpu", expect=2), "it has n3 and n4"
    assert "the device of partition 'cpu' is unknown" in predicted("cpu", exclude="n1", expect=2)
    (device,) = predicted("cpu")["devices"]
    assert device["kind"] == "cpu"
    assert CPU_MODEL in device["names"]


def test_gpus_of_a_partition_are_those_of_the_type_that_slurm_names(bare_cluster: CommandLine, predicted: Any) -> None:
    error = predicted("gpu", "gpu", expect=2)
    assert "the GPU 'fake' of partition 'gpu' has no description" in error
    assert "names: [fake]" in error
    folder = bare_cluster.workspace / "configs" / "devices"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text(json.dumps({"devices": {"made-up-gpu": GPU}}))
    found = predicted("gpu", "gpu")
    assert [(each["name"], each["kind"]) for each in found["devices"]] == [("made-up-gpu", "gpu")]
    assert [each["reason"] for each in found["cases"]] == [None]
    assert found["cases"][0]["time_s"]["value"] > 0


def test_the_default_partition_is_that_of_the_cluster(bare_cluster: CommandLine, predicted: Any) -> None:
    measure(bare_cluster, "n4")
    site = bare_cluster.site("cluster", scheduler="slurm", partitions={"cpu": {"default": True}, "gpu": {}})
    file = bare_cluster.experiment()
    done = bare_cluster("sweep", file, "--site", site, "--predict", "--dry-run", "--json")
    assert CPU_MODEL in json.loads(done.stdout)["predictions"]["devices"][0]["names"]
