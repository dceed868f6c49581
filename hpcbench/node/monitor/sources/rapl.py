"""Energy of processors and their memory, from counters of the CPU (RAPL, of Intel and AMD)."""

import glob
import os
import re
from typing import Any, Dict, List, NamedTuple

from ...host.open_files import why_unreadable
from ..counters import Counter
from ..power_sensors import Meter
from .base import COUNTER, Absent, HostView, Source, Values

# Zones of Linux's powercap: `package-0`, or `package-0-die-1`. A package includes `core` and `uncore`, but not `dram`.
# `psys` is the whole board if the vendor has connected it, which cannot be detected. `intel-rapl-mmio` has the same
# zones.
_PACKAGE = re.compile(r"package-([\d]+)(?:-die-(\d+))?\Z")


class _Zone(NamedTuple):
    domain: str  # cpu0, dram0, or cpu0die1
    path: str
    counter: Counter


class Rapl(Source):
    """The RAPL counters of packages and DRAM."""

    name = "rapl"

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        self._zones = _zones(host)
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
        domain = _domain(host, path)
        if domain:
            counter = os.path.join(path, "energy_uj")
            refused = why_unreadable(counter)
            if refused:
                raise Absent(
                    "%s. Since Linux 5.10 only root may read it (CVE-2020-8694), unless an administrator lets others: "
                    "chmod a+r %s" % (refused, os.path.join(folder, "intel-rapl:*", "energy_uj"))
                )
            most = host.files.read(os.path.join(path, "max_energy_range_uj"))
            zones.append(_Zone(domain, counter, Counter(wraps_at=float(most) if most else None)))
    if not zones:
        raise Absent("no RAPL (virtual machine, unsupported processor, or kernel module intel_rapl_msr missing)")
    return zones


def _domain(host: HostView, path: str) -> str:
    """Return the domain of a zone; empty for a zone that is included in another one."""
    name = _name(host, path)
    if name == "dram":
        name = _name(host, path.rpartition(":")[0])
        kind = "dram"
    else:
        kind = "cpu"
    found = _PACKAGE.match(name)
    if not found:
        return ""
    return kind + found.group(1) + ("die%s" % found.group(2) if found.group(2) else "")


def _name(host: HostView, path: str) -> str:
    return host.files.read(os.path.join(path, "name")).decode().strip()
