"""The times of CPUs in /proc/stat: made up, and those of this machine."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from hpcbench.node.host.proc_stat import TICKS_PER_S, CpuTimes, cpu_times, forks

SUM = b"cpu  9 9 9 9 9 9 9 9 9 9\n"


def test_each_time_is_taken_from_its_field() -> None:
    """user nice system idle iowait irq softirq steal guest guest_nice: proc_stat(5)."""
    line = b"cpu7 1 20 300 9999999 9999999 4000 50000 600000 1 20\n"
    assert cpu_times(SUM + line + b"intr 5 cpu8 1\nprocs_running 3\n") == [CpuTimes(7, 321, 54000, 600000)]


def test_a_kernel_of_before_guests_is_understood() -> None:
    assert cpu_times(SUM + b"cpu0 1 2 3 0 0 4 5 6\n") == [CpuTimes(0, 6, 9, 6)]


@pytest.mark.parametrize("content", [b"", SUM, b"intr 1 2 3\nprocs_running 1"])
def test_where_no_cpu_is_told_there_is_none(content: bytes) -> None:
    assert cpu_times(content) == []


def test_another_process_is_told_and_time_that_goes_by_is_not() -> None:
    stat = b"cpu0 %d 2 3 0 0 4 5 6\nintr 5\nctxt 7\nbtime 9\nprocesses %d\nprocs_running 1\nprocs_blocked 0\n"
    assert forks(stat % (1, 10)) == forks(stat % (2, 10)) != forks(stat % (2, 11))
    assert forks(b"") == forks(b"cpu0 1 2 3\n") == b""
    assert forks(Path("/proc/stat").read_bytes())


def test_the_real_kernel_counts_the_work_of_this_process() -> None:
    def busy() -> int:
        usable = os.sched_getaffinity(0)
        return sum(each.busy for each in cpu_times(Path("/proc/stat").read_bytes()) if each.cpu in usable)

    before, end = busy(), time.process_time() + 0.1
    while time.process_time() < end:
        pass
    assert (busy() - before) / TICKS_PER_S >= 0.05
