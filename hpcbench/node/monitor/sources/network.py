"""Bytes through the network interfaces of the node."""

import os
from typing import Any, Dict, List

from ..counters import Counter
from .base import COUNTER, TWICE_A_SECOND, Absent, HostView, Source, Values


class Network(Source):
    """Bytes through hardware interfaces; traffic of bridges, bonds and containers goes through one of them."""

    name = "network"
    columns = {"network.rx_bytes": COUNTER, "network.tx_bytes": COUNTER}
    period_s = TWICE_A_SECOND

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        self._folder = host.path("sys/class/net")
        self._counters = {name: (Counter(), Counter()) for name in self._hardware()}
        if not self._counters:
            raise Absent("no physical network interface: a container sees only virtual ones")
        self._sums = [0.0, 0.0]

    def read(self) -> Values:
        for name, counters in self._counters.items():
            for index, (counter, file) in enumerate(zip(counters, ("rx_bytes", "tx_bytes"))):
                text = self.host.files.read(os.path.join(self._folder, name, "statistics", file))
                self._sums[index] += counter.step(int(text)) if text else 0
        return [*self._sums]

    def facts(self) -> Dict[str, Any]:
        return {"interfaces": sorted(self._counters)}

    def _hardware(self) -> List[str]:
        try:
            names = os.listdir(self._folder)
        except OSError:
            return []
        return [name for name in names if os.path.exists(os.path.join(self._folder, name, "device"))]
