"""The times of each CPU in /proc/stat (proc_stat(5)): busy, interrupts, steal."""

import os
from typing import List, NamedTuple

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class CpuTimes(NamedTuple):
    """Times in ticks since boot. The user's time includes guests; idle and iowait do not count as busy."""

    cpu: int
    busy: int  # in processes, and in the kernel on their behalf
    interrupts: int
    steal: int  # in which the hypervisor ran others


def forks(stat: bytes) -> bytes:
    """Return the number of processes and threads started since boot, as /proc/stat writes it."""
    return stat[stat.rfind(b"\nprocesses") : stat.rfind(b"\nprocs_running")]


def cpu_times(stat: bytes) -> List[CpuTimes]:
    """Return the times of each CPU, from the content of /proc/stat.

    This runs ten times a second on nodes with hundreds of CPUs: a line with thousands of interrupt counts is skipped.
    """
    found = []
    for line in stat.partition(b"intr")[0].splitlines()[1:]:  # the first line is the sum
        name, user, nice, system, _idle, _iowait, irq, softirq, steal, *_guests = line.split()
        busy, interrupts = int(user) + int(nice) + int(system), int(irq) + int(softirq)
        found.append(CpuTimes(int(name[3:]), busy, interrupts, int(steal)))
    return found
