"""The power meters of NVIDIA's Grace CPUs, on machines that are laid out as files."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.core.energy import KIND_SOURCES
from hpcbench.node.monitor.power_sensors import SENSORS
from hpcbench.node.monitor.sources import ALL, grace
from hpcbench.node.monitor.sources.base import Absent
from hpcbench.node.monitor.sources.grace import Grace


def meter(
    machine: Any, number: int, name: str, microwatts: int, interval_ms: int = 50, folder: str = "/device"
) -> None:
    """Write the files of an ACPI power meter."""
    path = f"sys/class/hwmon/hwmon{number}{folder}"
    machine.write(f"{path}/power1_oem_info", name)
    machine.write(f"{path}/power1_average", microwatts)
    machine.write(f"{path}/power1_average_interval", interval_ms)


@pytest.mark.parametrize("folder", ["", "/device"])
def test_each_socket_has_its_whole_power_once(machine: Any, folder: str) -> None:
    machine.write("sys/class/hwmon/hwmon0/temp1_input", 40000)
    for number, name in enumerate(("Module", "Grace", "CPU", "SysIO"), 1):
        meter(machine, number, f"{name} Power Socket 0", number * 50_000_000, folder=folder)
    meter(machine, 5, "CPU Power Socket 1", 70_000_000, folder=folder)
    meter(machine, 6, "Grace Power Socket 1", 80_500_000, folder=folder)
    source = Grace(machine.host)
    assert machine.values(source) == {"grace.cpu0_w": 100.0, "grace.cpu1_w": 80.5}
    meter(machine, 2, "Grace Power Socket 0", 120_000_000, folder=folder)
    assert machine.values(source)["grace.cpu0_w"] == 120.0
    meters = source.facts()["meters"]
    assert [each["domain"] for each in meters] == ["cpu0", "cpu1"]
    assert {each["remark"] for each in meters} == {"with the memory and I/O of the socket"}


def test_a_socket_without_a_total_has_the_power_of_its_cores(machine: Any) -> None:
    meter(machine, 0, "CPU Power Socket 0", 70_000_000)
    source = Grace(machine.host)
    assert machine.values(source) == {"grace.cpu0_w": 70.0}
    assert source.facts()["meters"][0]["remark"] == "only of the cores, without memory and I/O"


@pytest.mark.parametrize(("interval_ms", "window_s"), [(50, 0.05), (1000, 1.0), (0, 1.0)])
def test_the_averaging_time_is_that_of_the_meter(machine: Any, interval_ms: int, window_s: float) -> None:
    meter(machine, 0, "Grace Power Socket 0", 70_000_000, interval_ms)
    (found,) = Grace(machine.host).facts()["meters"]
    assert SENSORS[found["power_sensor"]].window_s == window_s


def test_a_meter_that_cannot_be_read_any_more_has_no_value(machine: Any) -> None:
    meter(machine, 0, "Grace Power Socket 0", 70_000_000)
    source = Grace(machine.host)
    machine.remove("sys/class/hwmon/hwmon0/device/power1_average")
    assert machine.values(source) == {"grace.cpu0_w": None}


def test_other_meters_and_refusals_are_absent(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    meter(machine, 0, "", 300_000_000)
    with pytest.raises(Absent, match="no power meter of an NVIDIA Grace CPU"):
        Grace(machine.host)
    meter(machine, 1, "Grace Power Socket 0", 70_000_000)
    monkeypatch.setattr(grace, "why_unreadable", lambda path: f"Permission denied: {path}")
    with pytest.raises(Absent, match="Permission denied: "):
        Grace(machine.host)


def test_the_monitor_reads_it_as_the_energy_of_cpus() -> None:
    assert Grace in ALL
    assert ("rapl", "grace", "cray") in [sources for kind, _, sources in KIND_SOURCES if kind == "cpu"]
