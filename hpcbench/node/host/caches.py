"""The caches of the CPUs.

Linux: Documentation/ABI/testing/sysfs-devices-system-cpu, /sys/devices/system/cpu/cpu*/cache/index*.
"""

import re

from .sysfs import System

_UNKNOWN = 64 * 2**20  # more than most CPUs have
_FACTORS = {"K": 2**10, "M": 2**20, "": 1}


def last_level_bytes(system: System) -> int:
    """Return the bytes of the last-level caches that the usable CPUs reach; 64 MiB if the kernel does not report it."""
    found = {}
    for cpu in system.cpus:
        for folder in system.matching("sys/devices/system/cpu/cpu%d/cache/index*" % cpu):
            size = re.match(r"(\d+)([KM]?)\Z", system.text(folder + "/size") or "")
            level = system.number(folder + "/level")
            if size and level:
                shared = system.text(folder + "/shared_cpu_list") or str(cpu)
                found[level, shared] = int(size.group(1)) * _FACTORS[size.group(2)]
    last = max((level for level, _ in found), default=0)
    return sum(size for (level, _), size in found.items() if level == last) or _UNKNOWN
