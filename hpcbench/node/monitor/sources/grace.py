"""Power of the sockets of an NVIDIA Grace CPU, also in Grace Hopper superchips, from its ACPI power meters.

NVIDIA Grace Performance Tuning Guide, "Power Telemetry": a meter is a hwmon device, and its OEM information is `Grace
Power Socket 0` (the socket with its memory), `CPU Power Socket 0` (only the rail of the cores), `SysIO Power Socket 0`
or, with a GPU, `Module Power Socket 0` (CPU, memory and GPU).
"""

import glob
import os
import re
from typing import Any, Dict, List, NamedTuple

from ...host.open_files import why_unreadable
from ..power_sensors import GRACE_FAST, GRACE_SLOW, Meter
from .base import GAUGE, Absent, HostView, Source, Values

_NAME = re.compile(r"(Grace|CPU) Power Socket (\d+)\Z")
_REMARKS = {"Grace": "with the memory and I/O of the socket", "CPU": "only of the cores, without memory and I/O"}
_FAST_MS = 100  # averaging interval: the firmware offers 50 ms and 1 s


class _Socket(NamedTuple):
    domain: str  # cpu0
    path: str
    sensor: str
    remark: str


class Grace(Source):
    """The average power of each socket in watts. `Grace` contains `CPU`: a socket with both has the first."""

    name = "grace"

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        self._sockets = _sockets(host)
        self.columns = {"grace.%s_w" % socket.domain: GAUGE for socket in self._sockets}

    def read(self) -> Values:
        texts = [self.host.files.read(socket.path) for socket in self._sockets]
        return [int(text) / 1e6 if text else None for text in texts]

    def facts(self) -> Dict[str, Any]:
        meters = [
            Meter(each.domain, power="grace.%s_w" % each.domain, power_sensor=each.sensor, remark=each.remark)
            for each in self._sockets
        ]
        return {"meters": [meter._asdict() for meter in meters]}


def _sockets(host: HostView) -> List[_Socket]:
    """Return one meter for each socket. Raise Absent if there are none, or one is not readable."""
    found: Dict[str, _Socket] = {}
    folder = host.path("sys/class/hwmon/hwmon*")
    # Older kernels have the files in the folder of the device.
    for path in sorted(glob.glob(os.path.join(folder, "power1_average")) + glob.glob(_of_device(folder))):
        parent = os.path.dirname(path)
        name = _NAME.match(host.files.read(os.path.join(parent, "power1_oem_info")).decode("utf-8", "replace").strip())
        if not name:
            continue
        refused = why_unreadable(path)
        if refused:
            raise Absent(refused)
        kind, domain = name[1], "cpu" + name[2]
        if kind == "Grace" or domain not in found:
            interval_ms = host.files.read(os.path.join(parent, "power1_average_interval")).strip()
            is_fast = interval_ms.isdigit() and 0 < int(interval_ms) <= _FAST_MS
            found[domain] = _Socket(domain, path, GRACE_FAST if is_fast else GRACE_SLOW, _REMARKS[kind])
    if not found:
        raise Absent("no power meter of an NVIDIA Grace CPU (/sys/class/hwmon/*/power1_average)")
    return [found[domain] for domain in sorted(found)]


def _of_device(folder: str) -> str:
    return os.path.join(folder, "device", "power1_average")
