"""Memory of the node: free and swapped memory, page faults, and accesses to the memory of another NUMA node."""

import re

from ..counters import Counter
from .base import COUNTER, GAUGE, HostView, Source, Values

_AVAILABLE = re.compile(rb"MemAvailable:\s*(\d+) kB")
_SWAP_FREE = re.compile(rb"SwapFree:\s*(\d+) kB")
_EVENTS = re.compile(rb"^(pswpin|pswpout|pgfault|pgmajfault|numa_miss) (\d+)$", re.MULTILINE)


class Memory(Source):
    """Available memory and swap of the node, and its page faults, swapping and NUMA misses."""

    name = "memory"
    columns = {
        "memory.available_bytes": GAUGE,
        "memory.swap_free_bytes": GAUGE,
        "memory.swapped_in_pages": COUNTER,
        "memory.swapped_out_pages": COUNTER,
        "memory.faults": COUNTER,
        "memory.major_faults": COUNTER,
        "memory.numa_misses": COUNTER,
    }
    period_s = 1.0

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        self._info = host.readable("proc/meminfo")
        self._events = host.readable("proc/vmstat")
        self._counters = {name: Counter() for name in ("pswpin", "pswpout", "pgfault", "pgmajfault", "numa_miss")}

    def read(self) -> Values:
        info = self.host.files.read(self._info)
        gauges = [
            int(found.group(1)) * 1024 if found else None
            for found in (_AVAILABLE.search(info), _SWAP_FREE.search(info))
        ]
        events = {name.decode(): int(count) for name, count in _EVENTS.findall(self.host.files.read(self._events))}
        return [*gauges, *(counter.add(events.get(name)) for name, counter in self._counters.items())]
