"""The processors of the node: how busy the CPUs of the repetition are, and all others; what the hypervisor took."""

import re
from typing import Dict, FrozenSet, Tuple

from ...host.proc_stat import TICKS_PER_S, CpuTimes, cpu_times, forks
from ..counters import Counter
from .base import COUNTER, GAUGE, Parsed, Place, Values

_MS_PER_TICK = 1000 / TICKS_PER_S
_RUNNING = re.compile(rb"procs_running (\d+)")


class Cpu(Parsed):
    """Times are summed over CPUs; `own` are those on which the repetition's processes may run.

    Interrupts are nobody's: most of them come of the repetition's own messages and files.
    """

    name = "cpu"
    columns = {
        "cpu.own_busy_ms": COUNTER,
        "cpu.own_interrupt_ms": COUNTER,
        "cpu.own_steal_ms": COUNTER,
        "cpu.other_busy_ms": COUNTER,
        "cpu.own_count": GAUGE,
        "cpu.count": GAUGE,
        "cpu.running": GAUGE,  # tasks that run or could, on the whole node: the run queue
    }

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._path = place.readable("proc/stat")
        self._sums = [0.0, 0.0, 0.0, 0.0]  # own busy, interrupt and steal, other busy
        self._counters: Dict[int, Tuple[Counter, Counter, Counter]] = {}

    def look(self) -> Tuple[bytes, FrozenSet[int]]:
        content = self.place.files.read(self._path)
        self.place.own.forks = forks(content)
        return content, self.place.own.cpus

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
        """Each CPU is counted for itself, for the repetition may move to others meanwhile."""
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
