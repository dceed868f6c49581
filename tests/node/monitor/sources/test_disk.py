"""Block devices, and the I/O of the run's processes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from hpcbench.node.host.open_files import Files
from hpcbench.node.monitor.processes import OwnProcesses
from hpcbench.node.monitor.sources.base import Absent, HostView
from hpcbench.node.monitor.sources.disk import Disk, OwnIo


def line(name: str, read: int, written: int, busy_ms: int, reads: int = 10, writes: int = 20) -> str:
    """As in /proc/diskstats of Linux 5: sectors read and written, and the milliseconds with I/O under way."""
    return f"   8       0 {name} {reads} 1 {read} 5 {writes} 2 {written} 7 0 {busy_ms} 12 0 0 0 0 3 4"


@pytest.fixture
def disks(machine: Any) -> Any:
    """Two disks, a partition, a loop device, and a mapped volume on one of the disks."""
    for name in ("sda", "nvme0n1"):
        machine.write(f"sys/block/{name}/device/model", "a disk")
        machine.write(f"sys/block/{name}/hidden", 0)
    for name in ("loop0", "dm-0", "zram0"):
        machine.write(f"sys/block/{name}/hidden", 0)
    machine.write("sys/block/nvme0c0n1/device/model", "one path of two to nvme0n1")
    machine.write("sys/block/nvme0c0n1/hidden", 1)
    machine.show = lambda *lines: machine.write("proc/diskstats", "\n".join(lines))
    machine.show(line("sda", 100, 200, 50), line("nvme0n1", 0, 0, 0))
    return machine


def test_whole_devices_are_counted_in_bytes_and_nothing_twice(disks: Any) -> None:
    source = Disk(disks.host)
    assert set(disks.values(source).values()) == {0}
    disks.show(
        line("sda", 108, 200, 60, reads=13, writes=21),
        line("sda1", 108, 200, 60),
        line("nvme0n1", 0, 2, 70),
        line("nvme0c0n1", 0, 2, 70),
        line("dm-0", 999, 999, 999),
        line("loop0", 999, 999, 999),
    )
    assert disks.values(source) == {
        "disk.read_bytes": 8 * 512,
        "disk.written_bytes": 2 * 512,
        "disk.operations": 4,
        "disk.busy_ms": 70,
    }
    assert source.facts() == {"devices": ["nvme0n1", "sda"]}


def test_the_time_that_counts_is_that_of_the_busiest_device_and_wraps_at_32_bits(disks: Any) -> None:
    disks.show(line("sda", 0, 0, 2**32 - 10), line("nvme0n1", 0, 0, 0))
    source = Disk(disks.host)
    disks.values(source)
    disks.show(line("sda", 0, 0, 20), line("nvme0n1", 0, 0, 25))
    assert disks.values(source)["disk.busy_ms"] == 30
    disks.show(line("sda", 0, 0, 20), line("nvme0n1", 0, 0, 125))
    assert disks.values(source)["disk.busy_ms"] == 130


def test_a_disk_that_is_pulled_out_mid_run_adds_nothing_more(disks: Any) -> None:
    source = Disk(disks.host)
    disks.values(source)
    disks.show(line("sda", 108, 200, 60))
    assert disks.values(source)["disk.read_bytes"] == 8 * 512
    disks.show(line("nvme0n1", 4, 0, 1))
    assert disks.values(source)["disk.read_bytes"] == 12 * 512


def test_a_node_without_disks_says_so(machine: Any) -> None:
    machine.write("proc/diskstats", line("ram0", 0, 0, 0))
    machine.write("sys/block/ram0/hidden", 0)
    with pytest.raises(Absent, match="no local disk"):
        Disk(machine.host)


def io_of(read: int, written: int) -> str:
    return (
        f"rchar: 9\nwchar: 9\nsyscr: 9\nsyscw: 9\nread_bytes: {read}\nwrite_bytes: {written}\ncancelled_write_bytes: 0"
    )


@pytest.fixture
def processes(machine: Any) -> Any:
    machine.write("proc/self/io", io_of(0, 0))
    machine.write("proc/100/io", io_of(1000, 10))
    machine.write("proc/200/io", io_of(0, 0))
    machine.own.pids = [100, 200]
    return machine


def test_own_processes_are_added_up(processes: Any) -> None:
    source = OwnIo(processes.host)
    assert processes.values(source) == {"own.read_bytes": 1000, "own.written_bytes": 10}
    processes.write("proc/100/io", io_of(1500, 10))
    processes.write("proc/200/io", io_of(200, 40))
    assert processes.values(source) == {"own.read_bytes": 1700, "own.written_bytes": 50}


def test_a_process_that_ends_keeps_what_it_had(processes: Any) -> None:
    source = OwnIo(processes.host)
    processes.values(source)
    processes.write("proc/200/io", io_of(200, 0))
    assert processes.values(source)["own.read_bytes"] == 1200
    processes.remove("proc/200/io")
    processes.own.pids = [100]
    assert processes.values(source)["own.read_bytes"] == 1200
    processes.write("proc/100/io", io_of(1001, 10))
    assert processes.values(source)["own.read_bytes"] == 1201


def test_while_there_is_none_of_them_nothing_is_known(processes: Any) -> None:
    """What the last of them did at its end nobody tells: it is no zero."""
    source = OwnIo(processes.host)
    processes.own.pids = []
    assert set(processes.values(source).values()) == {None}
    processes.own.pids = [100]
    assert processes.values(source)["own.read_bytes"] == 1000
    processes.remove("proc/100/io")
    assert set(processes.values(source).values()) == {None}


def test_a_child_that_its_parent_waited_for_is_not_counted_twice(processes: Any) -> None:
    """Linux adds the I/O of a child that has ended to that of its parent (wait_task_zombie)."""
    source = OwnIo(processes.host)
    processes.values(source)
    processes.write("proc/200/io", io_of(200, 0))
    processes.values(source)
    processes.remove("proc/200/io")
    processes.own.pids = [100]
    processes.write("proc/100/io", io_of(1200, 10))
    assert processes.values(source)["own.read_bytes"] == 1200


def test_a_process_that_may_not_be_looked_into_makes_the_sum_unknown(processes: Any) -> None:
    source = OwnIo(processes.host)
    processes.values(source)
    processes.write("proc/200/io", "")  # opened, and refused when read
    assert processes.values(source) == {"own.read_bytes": None, "own.written_bytes": None}
    processes.write("proc/200/io", io_of(5, 0))
    assert processes.values(source)["own.read_bytes"] == 1005


def test_the_real_kernel_counts_what_this_process_writes(machine: Any) -> None:
    device = machine.root.stat().st_dev
    if not Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").exists():
        pytest.skip("not run: the I/O of a real process; the tests' folder lies on no block device")
    own = OwnProcesses("mark")
    own.pids = [os.getpid()]
    try:
        source = OwnIo(HostView(own, Files()))
    except Absent as reason:
        pytest.skip(f"not run: the I/O of a real process; {reason}")
    machine.values(source)
    with (machine.root / "written").open("wb") as writing:
        writing.write(bytes(1 << 20))
        writing.flush()
        os.fsync(writing.fileno())
    assert machine.values(source)["own.written_bytes"] >= 1 << 20
