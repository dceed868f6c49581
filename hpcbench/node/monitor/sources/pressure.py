"""Pressure stall information of the node: how long some or all tasks waited for CPU, memory or I/O."""

import re
from typing import Dict

from ..counters import Counter
from .base import COUNTER, TWICE_A_SECOND, HostView, Source, Values

_TOTAL = re.compile(rb"(some|full) .*total=(\d+)")


class Pressure(Source):
    """The stall times in /proc/pressure (Linux, Documentation/accounting/psi.rst)."""

    name = "pressure"
    columns = {
        "pressure.cpu_some_us": COUNTER,
        "pressure.memory_some_us": COUNTER,
        "pressure.memory_full_us": COUNTER,
        "pressure.io_some_us": COUNTER,
        "pressure.io_full_us": COUNTER,
    }
    period_s = TWICE_A_SECOND

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        self._paths = {name: host.readable("proc/pressure", name) for name in ("cpu", "memory", "io")}
        self._counters = {column: Counter() for column in self.columns}

    def read(self) -> Values:
        totals: Dict[str, int] = {}
        for name, path in self._paths.items():
            for kind, total in _TOTAL.findall(self.host.files.read(path)):
                totals["pressure.%s_%s_us" % (name, kind.decode())] = int(total)
        return [counter.add(totals.get(column)) for column, counter in self._counters.items()]
