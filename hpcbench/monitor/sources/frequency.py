"""How fast the CPUs of the repetition are clocked, and whether heat held them back."""

import glob
import os
from typing import Dict, List

from ..counters import Counter
from .base import COUNTER, GAUGE, Absent, Place, Source, Values

_MOST = 16  # CPUs to ask: each answer may need an interrupt on that CPU


class Frequency(Source):
    """`scaling_cur_freq` of some of the repetition's CPUs; events of Intel's thermal throttling of all cores."""

    name = "frequency"
    columns = {"cpu.clock_mean_khz": GAUGE, "cpu.clock_min_khz": GAUGE, "cpu.thermal_events": COUNTER}
    period_s = 1.0

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._folder = place.path("sys/devices/system/cpu")
        self._thermal = glob.glob(os.path.join(self._folder, "cpu[0-9]*/thermal_throttle/core_throttle_count"))
        self._counters: Dict[str, Counter] = {path: Counter() for path in self._thermal}
        self._events = 0.0
        if not glob.glob(os.path.join(self._folder, "cpu[0-9]*/cpufreq")) and not self._thermal:
            raise Absent("no cpufreq driver: a virtual machine does not see the clock of its CPUs")

    def read(self) -> Values:
        clocks = self._clocks()
        for path, counter in self._counters.items():
            text = self.place.files.read(path)
            self._events += counter.step(int(text)) if text else 0
        return [sum(clocks) / len(clocks) if clocks else None, min(clocks, default=None), self._events]

    def _clocks(self) -> List[int]:
        cpus = sorted(self.place.own.cpus)[:_MOST]
        texts = [
            self.place.files.read(os.path.join(self._folder, "cpu%d/cpufreq/scaling_cur_freq" % cpu)) for cpu in cpus
        ]
        return [int(text) for text in texts if text]
