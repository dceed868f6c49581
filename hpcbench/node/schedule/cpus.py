"""The CPUs of this process, and equal parts of them."""

import os
from typing import Dict, List

_SIBLINGS = "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list"


def usable() -> List[int]:
    """Where this process may run, or as many numbers as there are CPUs where the system does not tell."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def parts(number: int, threads: int) -> List[List[int]]:
    """CPUs for so many parts of so many threads each: cores before their second hardware threads, none of them in two
    parts where that can be."""
    cores: Dict[str, List[int]] = {}
    for cpu in usable():
        cores.setdefault(_core(cpu), []).append(cpu)
    ranked = sorted((turn, place, cpu) for place, core in enumerate(cores.values()) for turn, cpu in enumerate(core))
    taken = sorted(ranked[: number * threads], key=lambda each: (each[1], each[0]))
    chosen = [cpu for _, _, cpu in taken]
    return [chosen[part * threads : (part + 1) * threads] for part in range(number)]


def _core(cpu: int) -> str:
    """A name of its core, the same for all its hardware threads."""
    try:
        with open(_SIBLINGS % cpu, encoding="ascii") as file:
            return file.read()
    except OSError:
        return str(cpu)
