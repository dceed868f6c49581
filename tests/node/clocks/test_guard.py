"""The guard restores the clock after any end of the process that changed it: real processes, a copy of cpufreq."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.core.profiling.device_state import DeviceState
from hpcbench.node.clocks.control import NotPermitted
from hpcbench.node.clocks.cpufreq import FrequencyLimits
from hpcbench.node.clocks.guard import guarded
from tests.node.clocks import cpufreq_tree

pytestmark = pytest.mark.integration

BEFORE = ("800000", "2500000")
CHANGED = ("1560000", "1560000")
# Change the clock, print a line, and wait for ever.
CHANGE = """
import sys, time
from hpcbench.core.profiling.device_state import DeviceState
from hpcbench.node.clocks.cpufreq import FrequencyLimits
from hpcbench.node.clocks.guard import guarded
from hpcbench.node.host.sysfs import System
root, zipapp, notes = sys.argv[1:]
control = FrequencyLimits(System([0], root))
with guarded(control, [], notes, zipapp):
    control.apply(DeviceState(1560))
    print("changed", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def control(tmp_path: Path) -> FrequencyLimits:
    return FrequencyLimits(cpufreq_tree.make(tmp_path, [0]))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_the_whole_process_group_restores_the_clock(
    tmp_path: Path, zipapp: Path, control: FrequencyLimits, number: signal.Signals
) -> None:
    words = [sys.executable, "-c", CHANGE, str(tmp_path), str(zipapp), str(tmp_path / "notes")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "changed\n"
        assert cpufreq_tree.limits(tmp_path, 0) == CHANGED
        os.killpg(process.pid, number)
        process.wait(timeout=30)
    _wait_until(lambda: cpufreq_tree.limits(tmp_path, 0) == BEFORE)


def test_the_clock_is_restored_when_the_context_ends(tmp_path: Path, zipapp: Path, control: FrequencyLimits) -> None:
    failures: list[str] = []
    with guarded(control, failures, str(tmp_path / "notes"), str(zipapp)):
        control.apply(DeviceState(1560))
        assert cpufreq_tree.limits(tmp_path, 0) == CHANGED
    assert cpufreq_tree.limits(tmp_path, 0) == BEFORE
    assert failures == []


def test_the_clock_is_restored_after_an_exception(tmp_path: Path, zipapp: Path, control: FrequencyLimits) -> None:
    def fail() -> None:
        with guarded(control, [], str(tmp_path / "notes"), str(zipapp)):
            control.apply(DeviceState(1560))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert cpufreq_tree.limits(tmp_path, 0) == BEFORE


def test_a_clock_that_cannot_be_restored_is_reported(tmp_path: Path, zipapp: Path, control: FrequencyLimits) -> None:
    failures: list[str] = []
    with guarded(control, failures, str(tmp_path / "notes"), str(zipapp)):
        path = tmp_path / (cpufreq_tree.FOLDER % 0) / "scaling_max_freq"
        path.unlink()
        path.mkdir()
    assert len(failures) == 1
    assert failures[0].startswith("the frequency limits could not be restored: ")
    assert failures[0].endswith("scaling_max_freq: Is a directory")


def test_without_a_guard_nothing_is_changed(tmp_path: Path, control: FrequencyLimits) -> None:
    missing = str(tmp_path / "missing.pyz")
    with pytest.raises(NotPermitted, match="not be started"), guarded(control, [], str(tmp_path), missing):
        control.apply(DeviceState(1560))
    assert cpufreq_tree.limits(tmp_path, 0) == BEFORE


def _wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "the guard has not restored the clock"
        time.sleep(0.02)
