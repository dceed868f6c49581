"""tools/gpu-proof as a program: without a GPU, and with a mock NVML that the real pynvml calls."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.integration

REPOSITORY = Path(__file__).parents[2]
PROGRAM = REPOSITORY / "tools" / "gpu-proof"
# hpcbench's sources of a GPU, in a root with a driver's device file.
READ = """
import json, sys
from hpcbench.node.host.open_files import Files
from hpcbench.node.monitor.processes import OwnProcesses
from hpcbench.node.monitor.sources.base import HostView
from hpcbench.node.monitor.sources.nvidia import Nvidia, NvidiaEnergy, NvidiaProcesses
root = sys.argv[1]
host = HostView(OwnProcesses("", root), Files(), root)
found = {}
for kind in (Nvidia, NvidiaEnergy, NvidiaProcesses):
    source = kind(host)
    found.update(zip(source.columns, source.read()))
    found[source.name] = source.facts()
print(json.dumps(found))
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The root of a machine with an NVIDIA driver."""
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidiactl").touch()
    (tmp_path / "proc/self/ns").mkdir(parents=True)
    (tmp_path / "proc/self/ns/pid").symlink_to("pid:[4026531836]")
    return tmp_path


def test_the_real_pynvml_reads_every_column_from_a_mock_library(root: Path, mock_nvml: Path) -> None:
    environment = {**os.environ, "LD_LIBRARY_PATH": str(mock_nvml), "PYTHONPATH": str(REPOSITORY)}
    environment.pop("CUDA_VISIBLE_DEVICES", None)
    words = [sys.executable, "-c", READ, str(root)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert [name for name, value in found.items() if value is None] == []
    assert 250 <= found["gpu0.power_w"] <= 350
    assert found["gpu0.throttle_reasons"] == 4, "by the new name of the function: the mock lacks the old one"
    assert found["nvidia"]["gpus"][0]["power_sensor"] == "nvidia hopper instant power"
    assert found["gpu0.foreign_processes"] == 0


def test_without_a_gpu_it_says_what_is_missing_and_ends_at_once(tmp_path: Path) -> None:
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        done = subprocess.run([str(PROGRAM)], cwd=tmp_path, capture_output=True, text=True, timeout=30)
        assert done.returncode == 2
        assert (
            "error: gpu-proof cannot run on this machine: the NVIDIA driver: its library libnvidia-ml.so.1"
            in done.stderr
        )
        assert list(tmp_path.iterdir()) == []
    else:
        pytest.skip("this machine has an NVIDIA driver")


def test_an_unknown_step_is_a_usage_error(tmp_path: Path) -> None:
    words = [str(PROGRAM), "--steps", "nvml,other"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert done.returncode == 2
    assert "error: unknown step 'other'; steps: nvml, tests," in done.stderr


def rehearse(tmp_path: Path, mock_nvml: Path, *arguments: str) -> dict[str, Any]:
    """Return the summary of a rehearsal; its results are in the folder `out`."""
    unshare = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc/driver && mkdir /proc/driver/nvidia; "$@"']
    if not shutil.which("unshare") or subprocess.run([*unshare, "_", "true"], capture_output=True).returncode:
        pytest.skip("no right to mount here; not run: the rehearsal of tools/gpu-proof")
    words = [sys.executable, str(PROGRAM), *arguments, "--device", "cpu", "--out", str(tmp_path / "out")]
    environment = {**os.environ, "LD_LIBRARY_PATH": str(mock_nvml), "MOCK_NVML_MS": "1"}
    done = subprocess.run([*unshare, "_", *words], env=environment, capture_output=True, text=True, timeout=580)
    assert done.returncode == 0, done.stdout + done.stderr
    summary: dict[str, Any] = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["rehearsal"]
    return summary


@pytest.mark.long
@pytest.mark.torch
def test_a_rehearsal_measures_energy_throttling_and_another_process_with_a_mock(
    tmp_path: Path, mock_nvml: Path
) -> None:
    data = rehearse(tmp_path, mock_nvml, "--steps", "nvml,energy,throttling,foreign")
    assert {each["name"]: each["outcome"]["status"] for each in data["steps"]} == dict.fromkeys(
        ("nvml", "energy", "throttling", "foreign"), "passed"
    )
    found = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert found == ["log.txt", "summary.json", "summary.md", "workspace.tar.gz"]


@pytest.mark.long
@pytest.mark.alone  # next to other tests, all runs may have interference, and the fit leaves out such runs
@pytest.mark.torch
def test_a_rehearsal_predicts_networks_from_the_profile_of_others(tmp_path: Path, mock_nvml: Path) -> None:
    pytest.importorskip("lightgbm")
    (step,) = rehearse(tmp_path, mock_nvml, "predict")["steps"]
    assert step["outcome"]["status"] == "passed"
    assert "times are inside their 90 % interval" in step["outcome"]["evidence"][-1]
    assert (tmp_path / "out" / "predictions.csv").exists()
