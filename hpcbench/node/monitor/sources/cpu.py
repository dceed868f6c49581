"""The CPUs of the node: busy time on the CPUs of the run and on all others, and steal time."""

import re
from typing import Dict, FrozenSet, Tuple

from ...host.proc_stat import TICKS_PER_S, CpuTimes, cpu_times, forks
from ..counters import Counter
from .base import COUNTER, GAUGE, HostView, Parsed, Values

_MS_PER_TICK = 1000 / TICKS_PER_S
_RUNNING = re.compile(rb"procs_running (\d+)")


class Cpu(Parsed):
    """Times summed over CPUs. `own` are those on which the run's processes may run.

    Interrupts count separately: most of them are caused by the run's own messages and files.
    """

    name = "cpu"
    columns = {
        "cpu.own_busy_ms": COUNTER,
        "cpu.own_interrupt_ms": COUNTER,
        "cpu.own_steal_ms": COUNTER,
        "cpu.other_busy_ms": COUNTER,
        "cpu.own_count": GAUGE,
        "cpu.count": GAUGE,
        "cpu.running": GAUGE,  # tasks on the whole node that are running or runnable
    }

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        self._path = host.readable("proc/stat")
        self._sums = [0.0, 0.0, 0.0, 0.0]  # own busy, interrupt and steal, other busy
        self._counters: Dict[int, Tuple[Counter, Counter, Counter]] = {}

    def capture(self) -> Tuple[bytes, FrozenSet[int]]:
        content = self.host.files.read(self._path)
        self.host.own.forks = forks(content)
        return content, self.host.own.cpus

    def values(self, seen: Tuple[bytes, FrozenSet[int]]) -> Values:
        content, own = seen
        cpus = cpu_times(content)
        if not cpus:
            return [None] * len(self.columns)
        for times in cpus:
            self._count(times, times.cpu in own)
        running = _RUNNING.search(content, content.find(b"intr"))
        times_ms = [round(ticks * _MS_PER_TICK) for ticks in self._sums]
        tasks = int(running.group(1)) if running else None
        return [*times_ms, len(own), len(cpus), tasks]

    def _count(self, times: CpuTimes, is_own: bool) -> None:
        """Add the times of one CPU; each CPU has its own counters, since the run may move to other CPUs."""
        counters = self._counters.setdefault(times.cpu, (Counter(), Counter(), Counter()))
        busy = counters[0].step(times.busy)
        interrupts = counters[1].step(times.interrupts)
        steal = counters[2].step(times.steal)
        if is_own:
            self._sums[0] += busy
            self._sums[1] += interrupts
            self._sums[2] += steal
        else:
            self._sums[3] += busy
