"""Traffic through InfiniBand, Omni-Path and RoCE ports, which bypasses the kernel's network stack."""

import glob
import os
from typing import Any, Dict

from ..counters import Counter
from .base import COUNTER, TWICE_A_SECOND, Absent, HostView, Source, Values

# Linux, Documentation/ABI/stable/sysfs-class-infiniband: data are counted in words of four octets. `port_xmit_wait` are
# ticks of the port in which it had data to send and could not: other traffic was in the way.
_FILES = {"port_rcv_data": 4, "port_xmit_data": 4, "port_xmit_wait": 1}


class InfiniBand(Source):
    """Sums over all ports of the node, including the traffic of other jobs."""

    name = "infiniband"
    columns = {"infiniband.rx_bytes": COUNTER, "infiniband.tx_bytes": COUNTER, "infiniband.tx_wait_ticks": COUNTER}
    period_s = TWICE_A_SECOND

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        ports = glob.glob(host.path("sys/class/infiniband/*/ports/*"))
        self._counters: Dict[str, Dict[str, Counter]] = {
            port: {name: Counter() for name in _FILES}
            for port in ports
            if os.path.exists(os.path.join(port, "counters", "port_rcv_data"))
        }
        if not self._counters:
            raise Absent(
                "no InfiniBand on this node" if not ports else "the driver of this fabric does not count bytes"
            )
        self._sums = dict.fromkeys(_FILES, 0.0)

    def read(self) -> Values:
        for port, counters in self._counters.items():
            for name, counter in counters.items():
                text = self.host.files.read(os.path.join(port, "counters", name))
                self._sums[name] += counter.step(int(text)) * _FILES[name] if text else 0
        return [*self._sums.values()]

    def facts(self) -> Dict[str, Any]:
        """Return the ports and their speeds."""
        rates = {}
        for port in sorted(self._counters):
            device = os.path.basename(os.path.dirname(os.path.dirname(port)))
            name = "%s/%s" % (device, os.path.basename(port))
            rates[name] = self.host.files.read(os.path.join(port, "rate")).decode().strip() or None
        return {"ports": rates}
