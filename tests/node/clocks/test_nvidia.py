"""The clocks and power limits of a GPU, by the real pynvml with a mock of NVIDIA's library."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
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


# Make a control, change the GPU, print the method, and wait for ever.
CHANGE = """
import sys, time
from hpcbench.node.clocks import nvidia
from hpcbench.node.clocks.guard import guarded
kind, zipapp, notes = sys.argv[1:]
control = getattr(nvidia, kind)("GPU-00000000-mock")
with guarded(control, [], notes, zipapp):
    control.apply(control.states(3)[0])
    print(control.method, flush=True)
    time.sleep(600)
"""


def environment(mock_nvml: Path, state: Path) -> dict[str, str]:
    """The environment of a program that sees the mock of NVIDIA's library."""
    paths = {"LD_LIBRARY_PATH": mock_nvml, "PYTHONPATH": Path(__file__).parents[3], "MOCK_NVML_STATE": state}
    return {**os.environ, **{name: str(path) for name, path in paths.items()}}


def output(words: list[str], mock_nvml: Path, state: Path) -> str:
    """What a Python program with these words prints, with the mock of NVIDIA's library."""
    words = [sys.executable, "-c", *words]
    done = subprocess.run(words, env=environment(mock_nvml, state), capture_output=True, text=True, timeout=60)
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


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize(
    ("kind", "method", "file", "changed", "restored"),
    [
        ("LockedClocks", "locked clocks", "clock", "720", "0"),
        ("PowerLimits", "power limit", "limit", "200000", "600000"),
    ],
)
def test_a_signal_to_the_whole_process_group_restores_a_mock_gpu(
    mock_nvml: Path,
    zipapp: Path,
    state: Path,
    wait_until: Callable[..., None],
    kind: str,
    method: str,
    file: str,
    changed: str,
    restored: str,
    number: signal.Signals,
) -> None:
    (state / "limit").write_text("600000")
    notes = state.parent / "notes"
    words = [sys.executable, "-c", CHANGE, kind, str(zipapp), str(notes)]
    seen = environment(mock_nvml, state)
    with subprocess.Popen(words, env=seen, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"{method}\n"
        assert (state / file).read_text() == changed
        os.killpg(process.pid, number)
        process.wait(timeout=30)
    wait_until(lambda: not list(notes.iterdir()))  # the guard removes its note when it has restored the GPU
    assert (state / file).read_text() == restored


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
