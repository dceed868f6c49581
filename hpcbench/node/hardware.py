"""What this machine is made of, as the kernel tells it."""

import os
import platform
from typing import Any, Dict, List, Optional

# Flags of /proc/cpuinfo that mean arithmetic, not just conversion, in a 16-bit format (x86, then Arm).
_ARITHMETIC_FLAGS = {
    "bfloat16": {"avx512_bf16", "amx_bf16", "bf16"},
    "float16": {"avx512_fp16", "amx_fp16", "asimdhp"},
}


def cpu_model() -> str:
    """The processor's name."""
    fields = _cpuinfo()
    return fields.get("model name") or fields.get("cpu model") or platform.machine()


def cpu_computes_in(dtype: str) -> bool:
    """Whether the processor has arithmetic of its own in a 16-bit format."""
    fields = _cpuinfo()
    flags = set((fields.get("flags") or fields.get("features") or "").split())
    return bool(flags & _ARITHMETIC_FLAGS[dtype])


def describe() -> Dict[str, Any]:
    """The node as a record wants it."""
    return {
        "hostname": platform.node(),
        "cpu_model": cpu_model(),
        "cpu_count": os.cpu_count(),
        "memory_bytes": memory_bytes(),
        "kernel": platform.release(),
        "machine": platform.machine(),
    }


def usable_cpus() -> List[int]:
    """The CPUs that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def memory_bytes() -> Optional[int]:
    """Memory of the machine."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return None


def oom_kills() -> Optional[int]:
    """Processes that the kernel has killed for want of memory: in our own cgroup where it counts them, which tells them
    from a neighbour's (cgroup v1: Linux 4.13, memory.oom_control; v2: memory.events); else on the whole machine."""
    for path in (*_memory_events(), "/proc/vmstat"):
        for line in _lines(path):
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return None


def _memory_events() -> List[str]:
    """The files in which our memory cgroup counts, in both versions."""
    paths = []
    for line in _lines("/proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        if controllers == "memory":
            paths.append("/sys/fs/cgroup/memory%s/memory.oom_control" % path)
        elif not controllers:
            paths.append("/sys/fs/cgroup%s/memory.events" % path)
    return paths


def _cpuinfo() -> Dict[str, str]:
    """The fields of the first processor, their names in lower case."""
    fields: Dict[str, str] = {}
    for line in _lines("/proc/cpuinfo"):
        name, colon, value = line.partition(":")
        if not colon:
            break
        fields[name.strip().lower()] = value.strip()
    return fields


def _lines(path: str) -> List[str]:
    try:
        with open(path) as file:
            return file.read().splitlines()
    except OSError:
        return []
