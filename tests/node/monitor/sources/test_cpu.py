"""The processors of a node: /proc/stat, made up, and that of this machine."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from hpcbench.node.monitor.sources.base import Absent
from hpcbench.node.monitor.sources.cpu import Cpu

TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")


def line(name: str, busy: int = 0, steal: int = 0, idle: int = 0) -> str:
    """As in proc_stat(5). Busy are user, nice and system; a guest's time is contained in user's."""
    return f"{name} {busy} 0 0 {idle} 77 0 0 {steal} {busy} 0"


def stat(*cpus: str, running: int = 3) -> str:
    return "\n".join([line("cpu "), *cpus, "intr 12345 " + "0 " * 50, "ctxt 99", f"procs_running {running}"])


@pytest.fixture
def node(machine: Any) -> Any:
    """Two CPUs; the run may run on the second."""
    machine.show = lambda *cpus, **rest: machine.write("proc/stat", stat(*cpus, **rest))
    machine.show(line("cpu0", 1000), line("cpu1", 2000))
    machine.own.cpus = frozenset({1})
    machine.source = Cpu(machine.host)
    return machine


def test_cpus_of_the_repetition_are_told_from_the_others(node: Any) -> None:
    assert node.values(node.source) == {
        "cpu.own_busy_ms": 0,
        "cpu.own_interrupt_ms": 0,
        "cpu.own_steal_ms": 0,
        "cpu.other_busy_ms": 0,
        "cpu.own_count": 1,
        "cpu.count": 2,
        "cpu.running": 3,
    }
    node.show(line("cpu0", 1007, steal=4), line("cpu1", 2050, steal=2), running=9)
    found = node.values(node.source)
    assert (found["cpu.own_busy_ms"], found["cpu.other_busy_ms"]) == (50 * TICK_MS, 7 * TICK_MS)
    assert (found["cpu.own_steal_ms"], found["cpu.running"]) == (2 * TICK_MS, 9)


def test_what_counts_as_busy_is_all_but_idle_waiting_for_a_disk_interrupts_and_stolen(node: Any) -> None:
    node.show("cpu1 0 0 0 0 0 0 0 0 0 0")
    node.values(node.source)
    node.show("cpu1 1 20 300 9999999 9999999 4000 50000 9999999 1 20")
    found = node.values(node.source)
    assert (found["cpu.own_busy_ms"], found["cpu.own_interrupt_ms"]) == (321 * TICK_MS, 54000 * TICK_MS)


def test_time_counts_for_the_cpus_that_the_repetition_has_at_that_moment(node: Any) -> None:
    node.values(node.source)
    node.show(line("cpu0", 1010), line("cpu1", 2001))
    node.values(node.source)
    node.own.cpus = frozenset({0})
    node.show(line("cpu0", 1020), line("cpu1", 2001))
    found = node.values(node.source)
    assert (found["cpu.own_busy_ms"], found["cpu.other_busy_ms"]) == (11 * TICK_MS, 10 * TICK_MS)


def test_a_counter_of_one_cpu_that_falls_costs_only_its_own_time(node: Any) -> None:
    """On some kernels that of idle falls, and on old ones busy after a CPU was taken offline."""
    node.values(node.source)
    node.show(line("cpu0", 1005), line("cpu1", 20))
    node.values(node.source)
    node.show(line("cpu0", 1005), line("cpu1", 26))
    found = node.values(node.source)
    assert (found["cpu.own_busy_ms"], found["cpu.other_busy_ms"]) == (6 * TICK_MS, 5 * TICK_MS)


def test_a_cpu_that_is_taken_offline_is_no_longer_counted_and_comes_back(node: Any) -> None:
    node.values(node.source)
    node.show(line("cpu1", 2001))
    assert node.values(node.source)["cpu.count"] == 1
    node.show(line("cpu0", 1003), line("cpu1", 2002), line("cpu7", 500))
    found = node.values(node.source)
    assert (found["cpu.count"], found["cpu.other_busy_ms"]) == (3, 3 * TICK_MS)


@pytest.mark.parametrize("content", ["", "cpu  1 2 3", "intr 1 2 3\nprocs_running 1"])
def test_a_file_without_cpus_tells_nothing_rather_than_zero(node: Any, content: str) -> None:
    node.values(node.source)
    node.write("proc/stat", content)
    assert set(node.source.read()) == {None}
    node.show(line("cpu0", 1000), line("cpu1", 2001))
    assert node.values(node.source)["cpu.own_busy_ms"] == TICK_MS


def test_hundreds_of_cpus_with_thousands_of_interrupts(node: Any) -> None:
    node.own.cpus = frozenset(range(0, 768, 2))
    for busy in (10, 12):
        node.write("proc/stat", stat(*(line(f"cpu{cpu}", busy) for cpu in range(768))) + "\nintr " + "7 " * 40_000)
        found = node.values(node.source)
    assert (found["cpu.own_busy_ms"], found["cpu.other_busy_ms"]) == (768 * TICK_MS, 768 * TICK_MS)
    assert (found["cpu.count"], found["cpu.own_count"], found["cpu.running"]) == (768, 384, 3)


def test_a_kernel_that_does_not_tell_the_run_queue(node: Any) -> None:
    node.write("proc/stat", f"{line('cpu ')}\n{line('cpu0')}")
    assert node.values(node.source)["cpu.running"] is None


def test_without_the_file_there_is_no_source(machine: Any) -> None:
    with pytest.raises(Absent, match=r"No such file or directory: .*proc/stat"):
        Cpu(machine.host)


def test_the_real_kernel_counts_the_work_of_this_process(node: Any) -> None:
    node.own.cpus = frozenset(os.sched_getaffinity(0))
    source = Cpu(node.host._replace(root="/"))
    before = node.values(source)
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass
    after = node.values(source)
    assert after["cpu.own_busy_ms"] - before["cpu.own_busy_ms"] >= 50
    assert after["cpu.running"] >= 1
    assert after["cpu.count"] >= after["cpu.own_count"] >= 1
