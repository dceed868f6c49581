"""The clocks and power limits of a GPU, by the real pynvml with a mock of NVIDIA's library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.integration

# Print the method by which the clock of the first visible GPU can be changed, or why it cannot be.
CHOOSE = """
import sys
from hpcbench.node.clocks.choose import control_of
from hpcbench.node.clocks.control import NotPermitted
from hpcbench.node.host import gpus
from hpcbench.node.host.sysfs import System
gpus.identity = lambda index: sys.argv[1] or None
try:
    print(control_of(System([0]), 0).method)
except NotPermitted as error:
    print(error)
"""
# Make a control, apply its states, and print what the library's state was before, in each of them, and afterwards.
PROGRAM = """
import json, os, sys
from hpcbench.node.clocks import nvidia
from hpcbench.node.clocks.control import NotPermitted
from hpcbench.node.clocks.guard import guarded
kind, zipapp = sys.argv[1:]
folder = os.environ["MOCK_NVML_STATE"]
def seen():
    return {name: open(os.path.join(folder, name)).read() for name in sorted(os.listdir(folder))}
found = {"states": [], "seen": [], "failures": []}
try:
    control = getattr(nvidia, kind)("GPU-00000000-mock")
    with guarded(control, found["failures"], os.path.join(os.path.dirname(folder), "notes"), zipapp):
        for state in control.states(3):
            control.apply(state)
            found["states"].append(vars(state))
            found["seen"].append(seen())
    found["after"] = seen()
except NotPermitted as error:
    found["refused"] = str(error)
print(json.dumps(found))
"""


def output(words: list[str], mock_nvml: Path, state: Path) -> str:
    """What a Python program with these words prints, with the mock of NVIDIA's library."""
    environment = {
        **os.environ,
        "LD_LIBRARY_PATH": str(mock_nvml),
        "PYTHONPATH": str(Path(__file__).parents[3]),
        "MOCK_NVML_STATE": str(state),
    }
    done = subprocess.run([sys.executable, "-c", *words], env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run(kind: str, mock_nvml: Path, zipapp: Path, state: Path) -> Any:
    return json.loads(output([PROGRAM, kind, str(zipapp)], mock_nvml, state))


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The folder with the state of the mock GPU."""
    folder = tmp_path / "state"
    folder.mkdir()
    return folder


def test_clocks_are_locked_and_unlocked_with_a_mock_gpu(mock_nvml: Path, zipapp: Path, state: Path) -> None:
    found = run("LockedClocks", mock_nvml, zipapp, state)
    assert [each["requested_clock_mhz"] for each in found["states"]] == [720, 1350, 1980]
    assert found["seen"] == [{"clock": "720"}, {"clock": "1350"}, {"clock": "1980"}]
    assert found["after"] == {"clock": "0"}
    assert found["failures"] == []


def test_a_driver_that_refuses_locks_is_named_with_a_mock_gpu(mock_nvml: Path, zipapp: Path, state: Path) -> None:
    (state / "no-locks").touch()
    found = run("LockedClocks", mock_nvml, zipapp, state)
    assert found["refused"].startswith("nvmlDeviceResetGpuLockedClocks: Insufficient Permissions")


def test_power_limits_are_restored_to_the_earlier_limit_with_a_mock_gpu(
    mock_nvml: Path, zipapp: Path, state: Path
) -> None:
    (state / "limit").write_text("600000")
    found = run("PowerLimits", mock_nvml, zipapp, state)
    assert [each["requested_power_limit_w"] for each in found["states"]] == [200.0, 400.0, 600.0]
    assert [each["limit"] for each in found["seen"]] == ["200000", "400000", "600000"]
    assert found["after"] == {"limit": "600000"}


@pytest.mark.parametrize(
    ("refused", "method"), [((), "locked clocks"), (("no-locks",), "power limit"), (("no-locks", "no-limits"), "")]
)
def test_power_limits_replace_refused_locks_with_a_mock_gpu(
    mock_nvml: Path, state: Path, refused: tuple[str, ...], method: str
) -> None:
    for name in refused:
        (state / name).touch()
    found = output([CHOOSE, "1" * 32], mock_nvml, state).strip()
    if method:
        assert found == method
    else:
        locks, limits = found.split("; ")
        assert locks.startswith("locked clocks: nvmlDeviceResetGpuLockedClocks: Insufficient Permissions")
        assert limits.startswith("power limit: nvmlDeviceSetPowerManagementLimit: Insufficient Permissions")


def test_a_gpu_without_an_id_of_cuda_is_refused(mock_nvml: Path, state: Path) -> None:
    assert output([CHOOSE, ""], mock_nvml, state) == "only the clocks of NVIDIA's GPUs can be changed\n"
