"""The sizes of caches, and the memory available to this process."""

import os
from typing import Dict, List, Optional

from . import cgroups
from .sysfs import System

_CACHES = "sys/devices/system/cpu/cpu%d/cache/index[0-9]*"
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}
# The limit and the usage of a cgroup: version 2, then version 1.
_FILES = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))


def last_level_cache_bytes(system: System, cpus: List[int]) -> Optional[int]:
    """Return the total size of the last-level caches of these CPUs in bytes; None if it is unknown.

    https://docs.kernel.org/admin-guide/abi-stable.html: /sys/devices/system/cpu/cpuX/cache/indexY
    """
    found: Dict[str, int] = {}
    for cpu in cpus:
        for folder in system.matching(_CACHES % cpu):
            size = system.text(folder + "/size") or ""
            if size[-1:] in _UNITS and size[:-1].isdigit() and system.text(folder + "/type") != "Instruction":
                key = "%s:%s" % (system.text(folder + "/level"), system.text(folder + "/shared_cpu_list"))
                found[key] = int(size[:-1]) * _UNITS[size[-1]]
    last = max((key.partition(":")[0] for key in found), default="")
    return sum(size for key, size in found.items() if key.partition(":")[0] == last) or None


def available_bytes(system: System) -> Optional[int]:
    """Return the memory available on the machine or in our cgroups, whichever is less, in bytes; None if unknown."""
    lines = system.lines("proc/self/cgroup")
    folders = [os.path.relpath(folder, system.root) for folder in cgroups.folders(lines, "memory", system.root)]
    left = [_left(system, folder, *files) for folder in folders for files in _FILES]
    return min((each for each in (_of_machine(system), *left) if each is not None), default=None)


def _of_machine(system: System) -> Optional[int]:
    words = next((line.split() for line in system.lines("proc/meminfo") if line.startswith("MemAvailable:")), None)
    return int(words[1]) * 2**10 if words else None


def _left(system: System, folder: str, limit: str, usage: str) -> Optional[int]:
    most, used = system.number("%s/%s" % (folder, limit)), system.number("%s/%s" % (folder, usage))
    return None if most is None or used is None else max(0, most - used)
