"""CPU time throttled by the quota of the run's cgroup, or of an enclosing one."""

import os
from typing import Dict, List

from ...host import cgroups
from ..counters import Counter
from .base import COUNTER, TWICE_A_SECOND, HostView, Source, Values


class Quota(Source):
    """`nr_throttled` and the throttled time, added over the cgroups from the run's own to the root."""

    name = "quota"
    columns = {"quota.periods": COUNTER, "quota.throttled_periods": COUNTER, "quota.throttled_us": COUNTER}
    period_s = TWICE_A_SECOND

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        self._joined = b""
        self._files: List[str] = []
        self._counters: Dict[str, List[Counter]] = {}
        self._sums = [0.0, 0.0, 0.0]

    def read(self) -> Values:
        joined = self.host.own.cgroups()
        if joined and joined != self._joined:
            self._joined = joined
            folders = cgroups.folders(joined.decode("utf-8", "replace").splitlines(), "cpu", self.host.root)
            self._files = [os.path.join(folder, "cpu.stat") for folder in folders]
        any_read = False
        for path in self._files:
            content = self.host.files.read(path)
            if not content:
                continue
            any_read = True
            found = cgroups.values(content)
            throttled_us = found.get("throttled_usec", found.get("throttled_time", 0) / 1000)  # version 2; 1, in ns
            counters = self._counters.setdefault(path, [Counter(), Counter(), Counter()])
            readings = (found.get("nr_periods", 0), found.get("nr_throttled", 0), throttled_us)
            for index, (counter, reading) in enumerate(zip(counters, readings)):
                self._sums[index] += counter.step(reading)
        return [*self._sums] if any_read else [None] * len(self._sums)
