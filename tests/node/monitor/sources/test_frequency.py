"""Clocks and thermal throttling, of CPUs that are made up."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.node.monitor.sources.base import Absent
from hpcbench.node.monitor.sources.frequency import Frequency, spread

CPU = "sys/devices/system/cpu/cpu%d/"
CLOCK, CORE, PACKAGE, TIME_MS = (
    CPU + name
    for name in (
        "cpufreq/scaling_cur_freq",
        "thermal_throttle/core_throttle_count",
        "thermal_throttle/package_throttle_count",
        "thermal_throttle/core_throttle_total_time_ms",
    )
)


@pytest.fixture
def node(machine: Any) -> Any:
    """Four CPUs, of which the run has two."""
    for cpu in range(4):
        machine.write(CLOCK % cpu, 1_000_000 * (cpu + 1))
        machine.write(CORE % cpu, 10 * cpu)
        machine.write(PACKAGE % cpu, 7)
    machine.own.cpus = frozenset({1, 2})
    return machine


def test_clocks_are_those_of_the_repetitions_cpus(node: Any) -> None:
    found = node.values(Frequency(node.host))
    clocks = {"cpu.clock_mean_khz": 2_500_000, "cpu.clock_min_khz": 2_000_000}
    assert found == {**clocks, "cpu.thermal_events": 0, "cpu.thermal_us": None}


@pytest.mark.parametrize(("path", "events"), [(CORE % 2, 3), (PACKAGE % 1, 3), (CORE % 0, 0), (PACKAGE % 3, 0)])
def test_heat_is_told_where_it_held_a_cpu_of_the_repetition_back(node: Any, path: str, events: int) -> None:
    source = Frequency(node.host)
    node.values(source)
    before = int((node.root / path).read_text())
    node.write(path, before + 3)
    assert node.values(source)["cpu.thermal_events"] == events


def test_the_time_that_heat_took_is_that_of_the_cpu_that_lost_most(node: Any) -> None:
    for cpu in range(4):
        node.write(TIME_MS % cpu, 100)
    source = Frequency(node.host)
    assert node.values(source)["cpu.thermal_us"] == 0
    for cpu, total_ms in enumerate((900, 130, 150, 900)):
        node.write(TIME_MS % cpu, total_ms)
    assert node.values(source)["cpu.thermal_us"] == 50_000


@pytest.mark.parametrize("text", ["", "<unknown>", "garbage"])
def test_a_clock_that_a_driver_does_not_know_is_left_out(node: Any, text: str) -> None:
    node.write(CLOCK % 1, text)
    found = node.values(Frequency(node.host))
    assert (found["cpu.clock_mean_khz"], found["cpu.clock_min_khz"]) == (3_000_000, 3_000_000)


def test_what_the_machine_does_not_count_is_null_and_not_zero(node: Any) -> None:
    for cpu in range(4):
        node.remove(CORE % cpu)
        node.remove(PACKAGE % cpu)
    assert node.values(Frequency(node.host))["cpu.thermal_events"] is None
    for cpu in range(4):
        node.remove(CLOCK % cpu)
        node.write(CORE % cpu, 0)
    assert list(node.values(Frequency(node.host)).values()) == [None, None, 0, None]


def test_before_the_repetition_has_begun_there_is_nothing_to_tell(node: Any) -> None:
    node.own.cpus = frozenset()
    assert set(node.values(Frequency(node.host)).values()) == {None}


def test_a_virtual_machine_has_no_clocks(machine: Any) -> None:
    machine.write("sys/devices/system/cpu/cpu0/topology/core_id", 0)
    with pytest.raises(Absent, match="virtual machine"):
        Frequency(machine.host)


@pytest.mark.parametrize(("count", "asked"), [(0, 0), (1, 1), (16, 16), (17, 9), (32, 16), (384, 16), (385, 16)])
def test_of_many_cpus_some_of_all_sockets_are_asked(count: int, asked: int) -> None:
    chosen = spread(list(range(count)), 16)
    assert len(chosen) == asked
    assert not count or count - 1 - chosen[-1] < max(1, count / 8)
