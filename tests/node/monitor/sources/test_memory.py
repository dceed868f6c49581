"""Memory of a node, made up, and that of this machine."""

from __future__ import annotations

from typing import Any

import pytest

from hpcbench.node.monitor.sources.base import Absent
from hpcbench.node.monitor.sources.memory import Memory

INFO = "MemTotal:   4096 kB\nMemFree:      17 kB\nMemAvailable: 1024 kB\nSwapTotal: 64 kB\nSwapFree: 8 kB"
EVENTS = "pgpgin 5\npswpin {}\npswpout {}\npgfault {}\npgmajfault {}\nnuma_hit 9\nnuma_miss {}\nthp_fault_alloc 3"


@pytest.fixture
def node(machine: Any) -> Any:
    machine.write("proc/meminfo", INFO)
    machine.write("proc/vmstat", EVENTS.format(100, 200, 300, 400, 500))
    return machine


def test_what_is_free_is_told_in_bytes_and_events_from_the_first_reading(node: Any) -> None:
    source = Memory(node.host)
    assert source.read() == [1024 * 1024, 8 * 1024, 0, 0, 0, 0, 0]
    node.write("proc/vmstat", EVENTS.format(101, 202, 303, 404, 505))
    assert node.values(source) == {
        "memory.available_bytes": 1024 * 1024,
        "memory.swap_free_bytes": 8 * 1024,
        "memory.swapped_in_pages": 1,
        "memory.swapped_out_pages": 2,
        "memory.faults": 3,
        "memory.major_faults": 4,
        "memory.numa_misses": 5,
    }


def test_what_the_kernel_does_not_count_is_null_and_not_zero(node: Any) -> None:
    node.write("proc/vmstat", "pgfault 7\nnuma_missing 3\nxpswpin 3")
    node.write("proc/meminfo", "MemFree: 17 kB")
    assert Memory(node.host).read() == [None, None, None, None, 0, None, None]


@pytest.mark.parametrize("content", ["", "garbage", "pgfault\npgfault x"])
def test_files_that_tell_nothing_for_a_while_lose_nothing(node: Any, content: str) -> None:
    source = Memory(node.host)
    source.read()
    node.write("proc/vmstat", content)
    node.write("proc/meminfo", content)
    assert source.read() == [None, None, 0, 0, 0, 0, 0]
    node.write("proc/vmstat", EVENTS.format(100, 200, 310, 400, 500))
    assert node.values(source)["memory.faults"] == 10


@pytest.mark.parametrize("gone", ["proc/meminfo", "proc/vmstat"])
def test_without_one_of_its_files_there_is_no_source(node: Any, gone: str) -> None:
    node.remove(gone)
    with pytest.raises(Absent, match=gone):
        Memory(node.host)


def test_the_real_kernel_is_understood(machine: Any) -> None:
    source = Memory(machine.host._replace(root="/"))
    first, second = machine.values(source), machine.values(source)
    assert second["memory.available_bytes"] > 1 << 20
    assert second["memory.faults"] >= first["memory.faults"] == 0
