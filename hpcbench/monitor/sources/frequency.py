"""How fast the CPUs of the repetition are clocked, and whether heat held them back."""

import glob
import os
from typing import Dict, List, Optional, Tuple

from ..counters import Counter
from .base import COUNTER, GAUGE, Absent, Place, Source, Values

_MOST = 16  # CPUs to ask for their clock: each answer may need an interrupt on that CPU
_THROTTLED = ("thermal_throttle/core_throttle_count", "thermal_throttle/package_throttle_count")


class Frequency(Source):
    """`scaling_cur_freq` of some of the repetition's CPUs; events of Intel's thermal throttling of all of them."""

    name = "frequency"
    columns = {"cpu.clock_mean_khz": GAUGE, "cpu.clock_min_khz": GAUGE, "cpu.thermal_events": COUNTER}
    period_s = 1.0

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._folder = place.path("sys/devices/system/cpu")
        self._counters: Dict[Tuple[int, str], Counter] = {}
        self._events = 0.0
        known = ("cpufreq/scaling_cur_freq", *_THROTTLED)
        if not any(glob.glob(os.path.join(self._folder, "cpu[0-9]*", name)) for name in known):
            raise Absent("no cpufreq driver: a virtual machine does not see the clock of its CPUs")

    def read(self) -> Values:
        cpus = sorted(self.place.own.cpus)
        clocks = [self._number(cpu, "cpufreq/scaling_cur_freq") for cpu in spread(cpus, _MOST)]
        known = [clock for clock in clocks if clock is not None]
        mean = sum(known) / len(known) if known else None
        return [mean, min(known, default=None), self._thermal_events(cpus)]

    def _thermal_events(self, cpus: List[int]) -> Optional[float]:
        counted = False
        for cpu in cpus:
            for name in _THROTTLED:
                count = self._number(cpu, name)
                if count is not None:
                    counted = True
                    self._events += self._counters.setdefault((cpu, name), Counter()).step(count)
        return self._events if counted else None

    def _number(self, cpu: int, name: str) -> Optional[int]:
        """None where there is none: some drivers say `<unknown>`."""
        text = self.place.files.read(os.path.join(self._folder, "cpu%d" % cpu, name)).strip()
        return int(text) if text.isdigit() else None


def spread(cpus: List[int], most: int) -> List[int]:
    """So many of them, from all parts of the machine."""
    step = max(1, -(-len(cpus) // most))
    return cpus[::step]
