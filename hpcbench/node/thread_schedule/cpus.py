"""The CPUs of this process: how many threads they can run at once, and equal shares of them."""

import math
import os
from typing import Dict, List, Optional, Set, Tuple

import torch

from .cpu_quota import tightest

_THREADS = "/proc/self/task"
_BINDING = ("OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY")
_FOR_A_THREAD = 2**16  # elements of an operation per thread: more than torch leaves to one thread
_SIBLINGS = "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list"


def usable() -> List[int]:
    """Return the CPUs on which this process may run; 0, 1, ... for each CPU if the system does not report them."""
    if not hasattr(os, "sched_getaffinity"):
        return list(range(os.cpu_count() or 1))
    if not binding():
        return sorted(os.sched_getaffinity(0))
    # Each thread is bound to CPUs of its own, including this one: start all threads, and collect their CPUs.
    torch.ones(_FOR_A_THREAD * torch.get_num_threads()).sin_()
    return sorted(set().union(*map(_of_thread, os.listdir(_THREADS))))


def binding() -> List[str]:
    """Return the environment variables that make OpenMP bind its threads."""
    return [name for name in _BINDING if os.environ.get(name, "false").lower() not in ("false", "disabled", "none")]


def _of_thread(number: str) -> Set[int]:
    try:
        return os.sched_getaffinity(int(number))
    except ProcessLookupError:  # it has just ended
        return set()


def most_threads() -> int:
    """Return the number of CPUs, or the CPU quota rounded up if that is less."""
    return _limit()[0]


def too_few_for(threads: int) -> Optional[str]:
    """Return why so many threads would have to share CPUs, as a message; None if they need not."""
    most, why = _limit()
    if threads <= most:
        return None
    return "%d threads, and this process %s; `oversubscribe` allows it" % (threads, why)


def _limit() -> Tuple[int, str]:
    cpus, quota = len(usable()), tightest()
    if quota is not None and math.ceil(quota.cpus) < cpus:
        values = (quota.cpus, quota.group)
        return max(1, math.ceil(quota.cpus)), "has a quota of %.3g CPUs (cgroup %s)" % values
    bound = " (%s binds its threads)" % " and ".join(binding()) if binding() else ""
    return cpus, "may use %d CPU%s%s" % (cpus, "" if cpus == 1 else "s", bound)


def parts(number: int, threads: int) -> List[List[int]]:
    """Return the CPUs of `number` parts of `threads` threads each, without overlap.

    Cores come before their second hardware threads. If there are too few CPUs, each part has all of them.
    """
    if number * threads > len(usable()):
        return [usable()] * number
    cores: Dict[str, List[int]] = {}
    for cpu in usable():
        cores.setdefault(_core(cpu), []).append(cpu)
    ranked = sorted((turn, place, cpu) for place, core in enumerate(cores.values()) for turn, cpu in enumerate(core))
    taken = sorted(ranked[: number * threads], key=lambda each: (each[1], each[0]))
    chosen = [cpu for _, _, cpu in taken]
    return [chosen[part * threads : (part + 1) * threads] for part in range(number)]


def _core(cpu: int) -> str:
    """Return a name of the CPU's core, the same for all its hardware threads."""
    try:
        with open(_SIBLINGS % cpu, encoding="ascii") as file:
            return file.read()
    except OSError:
        return str(cpu)
