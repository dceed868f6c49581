"""What /proc/stat tells of each CPU (proc_stat(5)): for how long it has worked, and for how long it was taken away."""

import os
from typing import List, NamedTuple

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class CpuTimes(NamedTuple):
    """In ticks since the machine started. A guest's time is contained in its user's; idle and iowait are no work."""

    cpu: int
    busy: int  # with processes, and the kernel for them
    interrupts: int
    steal: int  # the hypervisor ran others meanwhile


def forks(stat: bytes) -> bytes:
    """How many processes and threads have begun since the machine started, as /proc/stat writes it."""
    return stat[stat.rfind(b"\nprocesses") : stat.rfind(b"\nprocs_running")]


def cpu_times(stat: bytes) -> List[CpuTimes]:
    """Of each CPU, from the content of /proc/stat.

    Read ten times a second on nodes of hundreds of CPUs, and so without a step too many; behind the CPUs comes a line
    of thousands of numbers, the interrupts.
    """
    found = []
    for line in stat.partition(b"intr")[0].splitlines()[1:]:  # the first is the sum
        name, user, nice, system, _idle, _iowait, irq, softirq, steal, *_guests = line.split()
        busy, interrupts = int(user) + int(nice) + int(system), int(irq) + int(softirq)
        found.append(CpuTimes(int(name[3:]), busy, interrupts, int(steal)))
    return found
