"""Energy of processors and their memory, from counters of the CPU (RAPL, of Intel and AMD)."""

import glob
import os
import re
from typing import Any, Dict, List, NamedTuple, Tuple

from ...host.open_files import why_unreadable
from ..counters import Counter
from ..power_sensors import Meter
from .base import COUNTER, Absent, HostView, Source, Values

# Zones of Linux's powercap: `package-0`, or `package-0-die-1`. A package includes `core` and `uncore`, but not `dram`.
# `psys` is the whole board if the vendor has connected it, which cannot be detected. `intel-rapl-mmio` has the same
# zones.
_PACKAGE = re.compile(r"package-([\d]+)(?:-die-(\d+))?\Z")
# Linux has a zone for each die. On Intel processors, each die has a register. On AMD processors, all dies of a socket
# read the same register, and their values differ only by the time of reading: by at most this many uJ. Independent
# counters that wrap at 65 kJ are as close in 3 of a million cases.
_MIRRORED_UJ = 100_000


class _Zone(NamedTuple):
    domain: str  # cpu0, dram0, or cpu0die1
    path: str
    counter: Counter
    socket: str  # the domain without its die


class Rapl(Source):
    """The RAPL counters of packages and DRAM."""

    name = "rapl"

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        self._zones = _distinct(host, _zones(host))
        self.columns = {"rapl.%s_uj" % zone.domain: COUNTER for zone in self._zones}
        self.columns.update({"rapl.%s_resets" % zone.domain: COUNTER for zone in self._zones})

    def read(self) -> Values:
        sums: Values = []
        for zone in self._zones:
            text = self.host.files.read(zone.path)
            sums.append(zone.counter.add(int(text)) if text else None)
        return [*sums, *(zone.counter.resets for zone in self._zones)]

    def facts(self) -> Dict[str, Any]:
        meters = [
            Meter(
                zone.domain,
                counter="rapl.%s_uj" % zone.domain,
                joules=1e-6,
                resets="rapl.%s_resets" % zone.domain,
                counter_sensor="rapl",
            )
            for zone in self._zones
        ]
        return {"meters": [meter._asdict() for meter in meters]}


def _zones(host: HostView) -> List[_Zone]:
    """Return the zones that do not lie within others. Raise Absent if there are none, or they are not readable."""
    folder = host.path("sys/class/powercap")
    zones = []
    for path in sorted(glob.glob(os.path.join(folder, "intel-rapl:*"))):
        socket, die = _domain(host, path)
        if socket:
            counter = os.path.join(path, "energy_uj")
            refused = why_unreadable(counter)
            if refused:
                raise Absent(
                    "%s. Since Linux 5.10 only root may read it (CVE-2020-8694), unless an administrator lets others: "
                    "chmod a+r %s" % (refused, os.path.join(folder, "intel-rapl:*", "energy_uj"))
                )
            most = host.files.read(os.path.join(path, "max_energy_range_uj"))
            zones.append(_Zone(socket + die, counter, Counter(wraps_at=float(most) if most else None), socket))
    if not zones:
        raise Absent("no RAPL (virtual machine, unsupported processor, or kernel module intel_rapl_msr missing)")
    return zones


def _distinct(host: HostView, zones: List[_Zone]) -> List[_Zone]:
    """Return one zone for each register. The only register of a socket has the name of the socket."""
    found: List[_Zone] = []
    for zone in zones:
        if not any(other.socket == zone.socket and _mirrors(host, zone, other) for other in found):
            found.append(zone)
    sockets = [zone.socket for zone in found]
    return [zone._replace(domain=zone.socket) if sockets.count(zone.socket) == 1 else zone for zone in found]


def _mirrors(host: HostView, zone: _Zone, other: _Zone) -> bool:
    """Return whether two zones read one register: a reading of one lies between two readings of the other."""
    texts = [host.files.read(path) for path in (other.path, zone.path, other.path)]
    if not all(texts):
        return False
    before, between, after = map(int, texts)
    return before - _MIRRORED_UJ <= between <= after + _MIRRORED_UJ


def _domain(host: HostView, path: str) -> Tuple[str, str]:
    """Return socket and die of a zone, e.g. `cpu0` and `die1`; both are empty for a zone that another one includes."""
    name = _name(host, path)
    if name == "dram":
        name = _name(host, path.rpartition(":")[0])
        kind = "dram"
    else:
        kind = "cpu"
    found = _PACKAGE.match(name)
    if not found:
        return "", ""
    return kind + found.group(1), "die%s" % found.group(2) if found.group(2) else ""


def _name(host: HostView, path: str) -> str:
    return host.files.read(os.path.join(path, "name")).decode().strip()
