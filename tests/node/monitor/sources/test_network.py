"""Network, InfiniBand and Lustre, on machines that are laid out as files."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.node.monitor.sources.base import Absent
from hpcbench.node.monitor.sources.infiniband import InfiniBand
from hpcbench.node.monitor.sources.lustre import Lustre
from hpcbench.node.monitor.sources.network import Network


def traffic(machine: Any, name: str, received: int, sent: int) -> None:
    machine.write(f"sys/class/net/{name}/statistics/rx_bytes", received)
    machine.write(f"sys/class/net/{name}/statistics/tx_bytes", sent)


def test_interfaces_of_hardware_are_counted_and_virtual_ones_are_not(machine: Any) -> None:
    for name in ("eno1", "eno2", "lo", "docker0", "bond0", "veth12"):
        traffic(machine, name, 1000, 2000)
    for name in ("eno1", "eno2"):
        machine.write(f"sys/class/net/{name}/device/vendor", "0x8086")
    source = Network(machine.host)
    assert machine.values(source) == {"network.rx_bytes": 0, "network.tx_bytes": 0}
    for name in ("eno1", "lo", "docker0", "bond0", "veth12"):
        traffic(machine, name, 1010, 2020)
    assert machine.values(source) == {"network.rx_bytes": 10, "network.tx_bytes": 20}
    assert source.facts() == {"interfaces": ["eno1", "eno2"]}


def test_an_interface_that_vanishes_or_starts_anew_takes_nothing_back(machine: Any) -> None:
    machine.write("sys/class/net/eno1/device/vendor", "0x8086")
    traffic(machine, "eno1", 1000, 2000)
    source = Network(machine.host)
    machine.values(source)
    traffic(machine, "eno1", 1100, 2000)
    machine.values(source)
    machine.remove("sys/class/net/eno1/statistics/rx_bytes")
    assert machine.values(source)["network.rx_bytes"] == 100
    machine.host.files.forget(str(machine.root / "sys/class/net/eno1/statistics/rx_bytes"))
    traffic(machine, "eno1", 7, 2000)
    assert machine.values(source)["network.rx_bytes"] == 100
    traffic(machine, "eno1", 9, 2000)
    assert machine.values(source)["network.rx_bytes"] == 102


def test_a_container_without_hardware_says_so(machine: Any) -> None:
    traffic(machine, "eth0", 1, 1)
    with pytest.raises(Absent, match="sees only virtual ones"):
        Network(machine.host)


def port(machine: Any, name: str, received: int, sent: int, waited: int) -> None:
    folder = f"sys/class/infiniband/{name}"
    machine.write(f"{folder}/rate", "200 Gb/sec (4X HDR)")
    for file, value in {"port_rcv_data": received, "port_xmit_data": sent, "port_xmit_wait": waited}.items():
        machine.write(f"{folder}/counters/{file}", value)


def test_infiniband_counts_words_of_four_bytes(machine: Any) -> None:
    port(machine, "mlx5_0/ports/1", 1000, 2000, 5)
    port(machine, "mlx5_1/ports/1", 0, 0, 0)
    source = InfiniBand(machine.host)
    machine.values(source)
    port(machine, "mlx5_0/ports/1", 1100, 2000, 8)
    port(machine, "mlx5_1/ports/1", 10, 1, 0)
    assert machine.values(source) == {
        "infiniband.rx_bytes": 440,
        "infiniband.tx_bytes": 4,
        "infiniband.tx_wait_ticks": 3,
    }
    assert source.facts()["ports"] == {"mlx5_0/1": "200 Gb/sec (4X HDR)", "mlx5_1/1": "200 Gb/sec (4X HDR)"}


def test_a_fabric_without_some_counter_keeps_the_others(machine: Any) -> None:
    machine.write("sys/class/infiniband/hfi1_0/ports/1/counters/port_rcv_data", 1)
    source = InfiniBand(machine.host)
    assert machine.values(source)["infiniband.tx_wait_ticks"] == 0
    assert source.facts()["ports"] == {"hfi1_0/1": None}


def test_a_node_without_infiniband_or_without_its_counters_says_so(machine: Any) -> None:
    with pytest.raises(Absent, match="no InfiniBand"):
        InfiniBand(machine.host)
    machine.write("sys/class/infiniband/usnic_0/ports/1/state", "4: ACTIVE")
    with pytest.raises(Absent, match="does not count bytes"):
        InfiniBand(machine.host)


# From `lctl get_param llite.*.stats` (lustre-discuss, 6 April 2018), and with the lines of Lustre 2.15.
OLD = """snapshot_time             1523008010.817348638 secs.nsecs
read_bytes                25673 samples [bytes] 1 3366225 145121869
write_bytes               13641 samples [bytes] 1 3366225 468230469
open                      3 samples [regs]
close                     3 samples [regs]"""
NEW = """snapshot_time             1700000000.123456789 secs.nsecs
start_time                1600000000.123456789 secs.nsecs
elapsed_time              100000000.000000000 secs.nsecs
read_bytes                25683 samples [bytes] 1 3366225 145122869 99999999999
write_bytes               13641 samples [bytes] 1 3366225 468230469 99999999999
read                      25683 samples [usec] 1 20 300 4000
open                      5 samples [usec] 1 20 300 4000
close                     3 samples [usec] 1 20 300 4000"""


@pytest.mark.parametrize("folder", ["proc/fs/lustre/llite", "sys/kernel/debug/lustre/llite"])
def test_lustre_counts_bytes_and_other_calls_in_all_its_versions(machine: Any, folder: str) -> None:
    machine.write(f"{folder}/scratch-ffff8800/stats", OLD)
    source = Lustre(machine.host)
    machine.values(source)
    machine.write(f"{folder}/scratch-ffff8800/stats", NEW)
    assert machine.values(source) == {"lustre.read_bytes": 1000, "lustre.written_bytes": 0, "lustre.operations": 2}
    assert source.facts() == {"mounts": ["scratch-ffff8800"]}


def test_lustre_before_the_first_read_and_after_a_clear(machine: Any) -> None:
    path = "proc/fs/lustre/llite/work-1/stats"
    machine.write(path, "snapshot_time  1.0 secs.nsecs")
    source = Lustre(machine.host)
    machine.values(source)
    machine.write(path, OLD)
    assert machine.values(source)["lustre.read_bytes"] == 145121869
    machine.write(path, "snapshot_time  1.0 secs.nsecs")  # lctl set_param llite.*.stats=clear
    assert machine.values(source)["lustre.read_bytes"] == 145121869


def test_lustre_that_only_root_may_read_says_who_can_mend_it(machine: Any) -> None:
    with pytest.raises(Absent, match="no Lustre on this node"):
        Lustre(machine.host)
    machine.write("sys/fs/lustre/version", "2.15.3")
    with pytest.raises(Absent, match="which only root can read unless an administrator runs: chmod"):
        Lustre(machine.host)
