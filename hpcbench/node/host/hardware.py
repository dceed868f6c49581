"""The hardware of this machine, from the kernel."""

import contextlib
import fcntl
import os
import resource
import struct
from typing import Any, Dict, List, NamedTuple, Optional

from . import cgroups, cpuinfo

_SIOCGIFADDR = 0x8915  # netdevice(7): returns the address of an interface


def describe() -> Dict[str, Any]:
    """Return the description of this node, as a record has it."""
    return {
        "hostname": os.uname().nodename,
        "cpu_model": cpuinfo.model(),
        "cpu_count": os.cpu_count(),
        "memory_bytes": memory_bytes(),
        "kernel": os.uname().release,
        "machine": os.uname().machine,
    }


def usable_cpus() -> List[int]:
    """Return the CPUs that this process may run on, sorted."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def interface_of(address: str) -> Optional[str]:
    """Return the network interface whose first IPv4 address is `address`, or None."""
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as question:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(question, _SIOCGIFADDR, struct.pack("256s", name.encode()))
            except OSError:  # the interface has no address
                continue
            if socket.inet_ntoa(answer[20:24]) == address:
                return name
    return None


def memory_bytes() -> Optional[int]:
    """Return the memory of the machine in bytes; None if it is unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None


def peak_resident_bytes() -> int:
    """Return the maximum resident memory of this process in bytes.

    `ru_maxrss` also counts the time before `exec`, and the parent; it is the fallback.
    """
    for line in _lines("/proc/self/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def reset_peak_resident() -> None:
    """Reset the peak resident memory of this process to the current value, if the kernel supports it (clear_refs)."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


class OomKills(NamedTuple):
    """The numbers of processes that the kernel killed because memory ran out; None if it does not count them."""

    own: Optional[int]  # in the cgroups of this job alone
    machine: Optional[int]  # on the whole machine


def oom_kills(root: str = "/") -> OomKills:
    """Return the counts so far (cgroup v1: memory.oom_control, since Linux 4.13; v2: memory.events; /proc/vmstat)."""
    folders = cgroups.own(_lines(os.path.join(root, "proc/self/cgroup")), "memory", root)
    files = [os.path.join(folder, name) for folder in folders for name in ("memory.events", "memory.oom_control")]
    counts = [count for count in map(_oom_kills_in, files) if count is not None]
    return OomKills(counts[0] if counts else None, _oom_kills_in(os.path.join(root, "proc/vmstat")))


def _oom_kills_in(path: str) -> Optional[int]:
    return next((int(line.split()[1]) for line in _lines(path) if line.startswith("oom_kill ")), None)


def _lines(path: str) -> List[str]:
    try:
        with open(path) as file:
            return file.read().splitlines()
    except OSError:
        return []
