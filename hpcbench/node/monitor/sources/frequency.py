"""How fast the CPUs of the repetition are clocked, and whether heat held them back."""

import glob
import os
from typing import Dict, List, Optional, Tuple

from ..counters import Counter
from .base import COUNTER, GAUGE, Absent, Place, Source, Values

_MOST = 16  # CPUs to ask for their clock: each answer may need an interrupt on that CPU
_EVENTS, _TIMES_MS = (
    tuple("thermal_throttle/%s_throttle_%s" % (part, what) for part in ("core", "package"))
    for what in ("count", "total_time_ms")
)


class Frequency(Source):
    """`scaling_cur_freq` of some of the repetition's CPUs; Intel's thermal throttling of all of them.

    The time throttled is that of whichever was throttled longest between two readings. The kernel counts it when it is
    over, from version 5.6 on (drivers/thermal/intel/therm_throt.c).
    """

    name = "frequency"
    columns = {
        "cpu.clock_mean_khz": GAUGE,
        "cpu.clock_min_khz": GAUGE,
        "cpu.thermal_events": COUNTER,
        "cpu.thermal_us": COUNTER,
    }
    period_s = 1.0

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._folder = place.path("sys/devices/system/cpu")
        self._counters: Dict[Tuple[int, str], Counter] = {}
        self._events = self._longest_ms = 0.0
        known = ("cpufreq/scaling_cur_freq", *_EVENTS)
        if not any(glob.glob(os.path.join(self._folder, "cpu[0-9]*", name)) for name in known):
            raise Absent("no cpufreq driver: a virtual machine does not see the clock of its CPUs")

    def read(self) -> Values:
        cpus = sorted(self.place.own.cpus)
        clocks = [self._number(cpu, "cpufreq/scaling_cur_freq") for cpu in spread(cpus, _MOST)]
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
        """By how much each counter has grown since the last reading; without those that the machine does not have."""
        readings = (((cpu, name), self._number(cpu, name)) for cpu in cpus for name in names)
        return [self._counters.setdefault(key, Counter()).step(count) for key, count in readings if count is not None]

    def _number(self, cpu: int, name: str) -> Optional[int]:
        """None where there is none: some drivers say `<unknown>`."""
        text = self.place.files.read(os.path.join(self._folder, "cpu%d" % cpu, name)).strip()
        return int(text) if text.isdigit() else None


def spread(cpus: List[int], most: int) -> List[int]:
    """So many of them, from all parts of the machine."""
    step = max(1, -(-len(cpus) // most))
    return cpus[::step]
