"""The processors of the node: how busy the CPUs of the repetition are, and all others; what the hypervisor took."""

import os
import re
from typing import Dict, List

from ..counters import Counter
from .base import COUNTER, GAUGE, Place, Source, Values

_MS_PER_TICK = 1000 / os.sysconf("SC_CLK_TCK")
# Places in a line of /proc/stat (proc_stat(5)): user, nice, system; irq, softirq; steal. Guest is contained in user.
_BUSY, _INTERRUPTS, _STEAL = (1, 2, 3), (6, 7), 8
_RUNNING = re.compile(rb"procs_running (\d+)")


class Cpu(Source):
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
        self._counters: Dict[bytes, List[Counter]] = {}

    def read(self) -> Values:
        # Behind the CPUs comes a line of thousands of numbers, the interrupts.
        cpus, _, rest = self.place.files.read(self._path).partition(b"intr")
        lines = cpus.splitlines()[1:]
        if not lines:
            return [None] * len(self.columns)
        for line in lines:
            self._count(line.split())
        running = _RUNNING.search(rest)
        times_ms = [round(ticks * _MS_PER_TICK) for ticks in self._sums]
        tasks = int(running.group(1)) if running else None
        return [*times_ms, len(self.place.own.cpus), len(lines), tasks]

    def _count(self, fields: List[bytes]) -> None:
        """Each CPU is counted for itself, for the repetition may move to others meanwhile."""
        counters = self._counters.setdefault(fields[0], [Counter(), Counter(), Counter()])
        busy = counters[0].step(sum(int(fields[place]) for place in _BUSY))
        interrupts = counters[1].step(sum(int(fields[place]) for place in _INTERRUPTS))
        steal = counters[2].step(int(fields[_STEAL]))
        if int(fields[0][3:]) in self.place.own.cpus:
            self._sums[0] += busy
            self._sums[1] += interrupts
            self._sums[2] += steal
        else:
            self._sums[3] += busy
