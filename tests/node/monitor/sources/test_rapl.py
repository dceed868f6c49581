"""RAPL and Cray's counters, on machines that are laid out as files."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.node.monitor.sources import rapl
from hpcbench.node.monitor.sources.base import Absent
from hpcbench.node.monitor.sources.cray import Cray
from hpcbench.node.monitor.sources.rapl import Rapl

MOST = 262143328850  # 2^32 * 61 uJ


def zone(machine: Any, path: str, name: str, energy_uj: int) -> None:
    folder = f"sys/class/powercap/{path}"
    machine.write(f"{folder}/name", name)
    machine.write(f"{folder}/max_energy_range_uj", MOST)
    machine.write(f"{folder}/energy_uj", energy_uj)


@pytest.fixture
def sockets(machine: Any) -> Any:
    """Two sockets with memory, each with what is contained in it, and the first once more under another driver."""
    for socket in (0, 1):
        zone(machine, f"intel-rapl:{socket}", f"package-{socket}", 1000)
        zone(machine, f"intel-rapl:{socket}:0", "core", 999)
        zone(machine, f"intel-rapl:{socket}:1", "dram", 500)
    zone(machine, "intel-rapl-mmio:0", "package-0", 1000)
    zone(machine, "intel-rapl:2", "psys", 5000)
    return machine


def test_packages_and_memory_of_several_sockets_are_counted_apart_and_once(sockets: Any) -> None:
    source = Rapl(sockets.host)
    sockets.values(source)
    zone(sockets, "intel-rapl:0", "package-0", 1700)
    zone(sockets, "intel-rapl:1:1", "dram", 520)
    values = sockets.values(source)
    energies = {name: value for name, value in values.items() if name.endswith("_uj")}
    assert energies == {"rapl.cpu0_uj": 700, "rapl.dram0_uj": 0, "rapl.cpu1_uj": 0, "rapl.dram1_uj": 20}
    assert [meter["domain"] for meter in source.facts()["meters"]] == ["cpu0", "dram0", "cpu1", "dram1"]


def test_a_counter_that_wraps_around_goes_on(sockets: Any) -> None:
    zone(sockets, "intel-rapl:0", "package-0", MOST - 100)
    source = Rapl(sockets.host)
    sockets.values(source)
    zone(sockets, "intel-rapl:0", "package-0", 50)
    values = sockets.values(source)
    assert values["rapl.cpu0_uj"] == 150
    assert values["rapl.cpu0_resets"] == 0


def test_a_counter_that_falls_otherwise_is_told(sockets: Any) -> None:
    source = Rapl(sockets.host)
    sockets.values(source)
    zone(sockets, "intel-rapl:0", "package-0", 10)
    values = sockets.values(source)
    assert values["rapl.cpu0_uj"] == 0
    assert values["rapl.cpu0_resets"] == 1


def test_dies_with_registers_of_their_own_are_told_apart(machine: Any) -> None:
    """As on Intel's Cascade Lake AP."""
    zone(machine, "intel-rapl:0", "package-0-die-0", 1)
    zone(machine, "intel-rapl:1", "package-0-die-1", 70_000_000)
    assert list(Rapl(machine.host).columns)[:2] == ["rapl.cpu0die0_uj", "rapl.cpu0die1_uj"]


def test_dies_that_read_the_register_of_their_socket_count_once(machine: Any) -> None:
    """As on AMD's processors: the zones differ by the moment of reading, here by 37 uJ."""

    def counters(joules: int) -> None:
        for die in range(8):
            for socket in (0, 1):
                energy_uj = 5_000_000 * (1 + socket) + 37 * die + joules * 1_000_000
                zone(machine, f"intel-rapl:{8 * socket + die}", f"package-{socket}-die-{die}", energy_uj)

    counters(0)
    source = Rapl(machine.host)
    machine.values(source)
    counters(680)
    energies = {name: value for name, value in machine.values(source).items() if name.endswith("_uj")}
    assert energies == {"rapl.cpu0_uj": 680e6, "rapl.cpu1_uj": 680e6}
    assert [meter["domain"] for meter in source.facts()["meters"]] == ["cpu0", "cpu1"]


def test_a_counter_that_ends_between_two_readings_is_no_mirror(machine: Any) -> None:
    zone(machine, "intel-rapl:0", "package-0-die-0", 1)
    zone(machine, "intel-rapl:1", "package-0-die-1", 1)
    (machine.root / "sys/class/powercap/intel-rapl:1/energy_uj").write_text("")
    assert list(Rapl(machine.host).columns)[:2] == ["rapl.cpu0die0_uj", "rapl.cpu0die1_uj"]


def test_a_zone_that_vanishes_is_null_from_then_on(sockets: Any) -> None:
    source = Rapl(sockets.host)
    sockets.values(source)
    sockets.remove("sys/class/powercap/intel-rapl:1/energy_uj")
    values = sockets.values(source)
    assert values["rapl.cpu1_uj"] is None
    assert values["rapl.cpu0_uj"] == 0


def test_a_counter_that_may_not_be_read_says_who_can_mend_it_with_a_fake_refusal(
    sockets: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rapl, "why_unreadable", lambda path: f"Permission denied: {path}")  # root is never refused
    with pytest.raises(Absent, match=r"Permission denied: .*energy_uj\. Since Linux 5\.10 only root .* chmod a\+r"):
        Rapl(sockets.host)


def test_a_machine_without_rapl_says_so(machine: Any) -> None:
    with pytest.raises(Absent, match="virtual machine, unsupported processor"):
        Rapl(machine.host)


def test_a_cray_node_tells_the_whole_and_its_parts(machine: Any) -> None:
    def show(energies: dict[str, int]) -> None:
        for name, joules in energies.items():
            machine.write(f"sys/cray/pm_counters/{name}", f"{joules} J 1700000000000000 us")

    machine.write("sys/cray/pm_counters/power", "300 W 1700000000000000 us")
    machine.write("sys/cray/pm_counters/freshness", 12)
    show({"energy": 100, "cpu_energy": 50, "memory_energy": 20, "accel0_energy": 7, "accel1_energy": 7})
    source = Cray(machine.host)
    machine.values(source)
    show({"energy": 400, "cpu_energy": 150, "memory_energy": 21, "accel0_energy": 90, "accel1_energy": 7})
    values = {name: value for name, value in machine.values(source).items() if name.endswith("_j")}
    assert values == {
        "cray.accelerator0_j": 83,
        "cray.accelerator1_j": 0,
        "cray.cpu_j": 100,
        "cray.node_j": 300,
        "cray.dram_j": 1,
    }
    meters = {meter["domain"]: meter for meter in source.facts()["meters"]}
    assert meters["node"]["remark"] == "of the whole node, including other users"


def test_the_sockets_of_a_cray_node_do_not_count_beside_their_sum(machine: Any) -> None:
    for name in ("cpu_energy", "cpu0_energy", "cpu1_energy", "accel0_energy"):
        machine.write(f"sys/cray/pm_counters/{name}", "100 J 1700000000000000 us")
    assert [meter["domain"] for meter in Cray(machine.host).facts()["meters"]] == ["accelerator0", "cpu"]
    machine.remove("sys/cray/pm_counters/cpu_energy")
    assert [meter["domain"] for meter in Cray(machine.host).facts()["meters"]] == ["accelerator0", "cpu0", "cpu1"]


def test_another_node_says_that_it_is_no_cray(machine: Any) -> None:
    with pytest.raises(Absent, match="HPE Cray"):
        Cray(machine.host)
