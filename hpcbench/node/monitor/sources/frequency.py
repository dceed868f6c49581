"""The clock of the run's CPUs, and thermal throttling."""

import glob
import os
from typing import Dict, List, Optional, Tuple

from ..counters import Counter
from .base import COUNTER, GAUGE, Absent, HostView, Source, Values

_MAX_CPUS = 16  # CPUs whose clock is read: each reading may need an interrupt on that CPU
_EVENTS, _TIMES_MS = (
    tuple("thermal_throttle/%s_throttle_%s" % (part, what) for part in ("core", "package"))
    for what in ("count", "total_time_ms")
)


class Frequency(Source):
    """`scaling_cur_freq` of some of the run's CPUs; Intel's thermal throttling of all of them.

    The throttled time is the longest of any CPU between two readings. The kernel counts it afterwards, since version
    5.6 (drivers/thermal/intel/therm_throt.c).
    """

    name = "frequency"
    columns = {
        "cpu.clock_mean_khz": GAUGE,
        "cpu.clock_min_khz": GAUGE,
        "cpu.thermal_events": COUNTER,
        "cpu.thermal_us": COUNTER,
    }
    period_s = 1.0

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        self._folder = host.path("sys/devices/system/cpu")
        self._counters: Dict[Tuple[int, str], Counter] = {}
        self._events = self._longest_ms = 0.0
        known = ("cpufreq/scaling_cur_freq", *_EVENTS)
        if not any(glob.glob(os.path.join(self._folder, "cpu[0-9]*", name)) for name in known):
            raise Absent("no cpufreq driver, e.g. in a virtual machine")

    def read(self) -> Values:
        cpus = sorted(self.host.own.cpus)
        clocks = [self._number(cpu, "cpufreq/scaling_cur_freq") for cpu in spread(cpus, _MAX_CPUS)]
        known = [clock for clock in clocks if clock is not None]
        mean = sum(known) / len(known) if known else None
        events, times_ms = self._grown(cpus, _EVENTS), self._grown(cpus, _TIMES_MS)
        self._events += sum(events)
        self._longest_ms += max(times_ms, default=0.0)
        return [
            mean,
            min(known, default=None),
            self._events if events else None,
            self._longest_ms * 1000 if times_ms else None,
        ]

    def _grown(self, cpus: List[int], names: Tuple[str, ...]) -> List[float]:
        """Return by how much each counter has grown since the last reading, without counters that the machine lacks."""
        readings = (((cpu, name), self._number(cpu, name)) for cpu in cpus for name in names)
        return [self._counters.setdefault(key, Counter()).step(count) for key, count in readings if count is not None]

    def _number(self, cpu: int, name: str) -> Optional[int]:
        """Return the number in a file, or None: some drivers write `<unknown>`."""
        text = self.host.files.read(os.path.join(self._folder, "cpu%d" % cpu, name)).strip()
        return int(text) if text.isdigit() else None


def spread(cpus: List[int], most: int) -> List[int]:
    """Return at most `most` of the CPUs, evenly spaced."""
    step = max(1, -(-len(cpus) // most))
    return cpus[::step]
