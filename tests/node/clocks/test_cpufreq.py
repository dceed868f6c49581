"""The frequency limits of CPUs, in a copy of the files of cpufreq."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hpcbench.core.profiling.device_state import DeviceState
from hpcbench.node.clocks.control import NotPermitted
from hpcbench.node.clocks.cpufreq import FrequencyLimits
from hpcbench.node.host.sysfs import System
from tests.node.clocks import cpufreq_tree


def test_states_are_from_36_percent_to_the_highest_frequency(tmp_path: Path) -> None:
    control = FrequencyLimits(cpufreq_tree.make(tmp_path, [0, 1]))
    assert [state.requested_clock_mhz for state in control.states(5)] == [1080, 1560, 2040, 2520, 3000]
    assert {state.clock_method for state in control.states(5)} == {"frequency limits"}
    assert [state.requested_clock_mhz for state in control.states(1)] == [3000]


def test_no_state_is_below_the_lowest_frequency(tmp_path: Path) -> None:
    control = FrequencyLimits(cpufreq_tree.make(tmp_path, [0], lowest_khz=2_000_000))
    assert [state.requested_clock_mhz for state in control.states(2)] == [2000, 3000]


def test_apply_sets_both_limits_of_all_cpus_and_restore_sets_them_back(tmp_path: Path) -> None:
    control = FrequencyLimits(cpufreq_tree.make(tmp_path, [0, 3]))
    saved = control.saved()
    control.apply(DeviceState(1560))
    assert [cpufreq_tree.limits(tmp_path, cpu) for cpu in (0, 3)] == [("1560000", "1560000")] * 2
    FrequencyLimits.restore(saved)
    assert [cpufreq_tree.limits(tmp_path, cpu) for cpu in (0, 3)] == [("800000", "2500000")] * 2


def test_without_cpufreq_the_reason_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotPermitted, match="cpufreq not found"):
        FrequencyLimits(System([0], str(tmp_path)))


def test_cpus_that_share_their_frequency_with_cpus_of_others_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NotPermitted, match="share their frequency with CPUs 2-3; request a whole node"):
        FrequencyLimits(cpufreq_tree.make(tmp_path, [0, 1], related="0 1 2 3"))


def test_a_limit_that_cannot_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = cpufreq_tree.make(tmp_path, [0])
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).endswith("scaling_max_freq"))
    with pytest.raises(NotPermitted, match=r"cannot write to .*scaling_max_freq; ask your administrator"):
        FrequencyLimits(system)


def test_a_value_that_the_kernel_refuses_is_an_error(tmp_path: Path) -> None:
    control = FrequencyLimits(cpufreq_tree.make(tmp_path, [0]))
    path = tmp_path / (cpufreq_tree.FOLDER % 0) / "scaling_max_freq"
    path.unlink()
    path.mkdir()  # a write fails
    with pytest.raises(NotPermitted, match="scaling_max_freq: Is a directory"):
        control.apply(DeviceState(1560))


def test_limits_that_cannot_be_read_are_refused_because_they_could_not_be_restored(tmp_path: Path) -> None:
    control = FrequencyLimits(cpufreq_tree.make(tmp_path, [0, 3]))
    (tmp_path / (cpufreq_tree.FOLDER % 3) / "scaling_min_freq").write_text("")
    with pytest.raises(NotPermitted, match="the limits of CPU 3 cannot be read"):
        control.saved()


def test_the_clock_is_that_of_the_fastest_cpu(tmp_path: Path) -> None:
    control = FrequencyLimits(cpufreq_tree.make(tmp_path, [0, 3]))
    assert control.clock_mhz() is None
    for cpu, khz in ((0, 800_000), (3, 1_560_000)):
        (tmp_path / (cpufreq_tree.FOLDER % cpu) / "scaling_cur_freq").write_text(f"{khz}\n")
    assert control.clock_mhz() == 1560.0
