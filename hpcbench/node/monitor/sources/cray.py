"""Energy of an HPE Cray XC or EX node, from the counters of its blade (/sys/cray/pm_counters)."""

import os
import re
from typing import Any, Dict, List, Tuple

from ..counters import Counter
from ..power_sensors import Meter
from .base import COUNTER, Absent, HostView, Source, Values

# `energy` is the whole node, and contains the others; `cpu_energy` is all sockets, and contains `cpu0_energy`. An
# `accel` is a package of AMD's or a GPU of NVIDIA's.
_FILE = re.compile(r"(?:(cpu|memory|accel)(\d*)_)?energy\Z")
_DOMAINS = {"cpu": "cpu", "memory": "dram", "accel": "accelerator"}


class Cray(Source):
    """Counters in whole joules, updated ten times a second (Martin and Kappel, Cray User Group 2014)."""

    name = "cray"

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        folder = host.path("sys/cray/pm_counters")
        self._meters: List[Tuple[str, str, Counter]] = [
            (domain, os.path.join(folder, file), Counter()) for file, domain in _files(folder)
        ]
        if not self._meters:
            raise Absent("no power counters of an HPE Cray node (/sys/cray/pm_counters)")
        self.columns = {"cray.%s_j" % domain: COUNTER for domain, _, _ in self._meters}
        self.columns.update({"cray.%s_resets" % domain: COUNTER for domain, _, _ in self._meters})

    def read(self) -> Values:
        sums: Values = []
        for _, path, counter in self._meters:
            words = self.host.files.read(path).split()  # `12345 J 1700000000000000 us`
            sums.append(counter.add(int(words[0])) if words else None)
        return [*sums, *(counter.resets for _, _, counter in self._meters)]

    def facts(self) -> Dict[str, Any]:
        meters = [
            Meter(
                domain,
                counter="cray.%s_j" % domain,
                resets="cray.%s_resets" % domain,
                counter_sensor="cray",
                remark="of the whole node, including other users" if domain == "node" else None,
            )
            for domain, _, _ in self._meters
        ]
        return {"meters": [meter._asdict() for meter in meters]}


def _files(folder: str) -> List[Tuple[str, str]]:
    """Return the names of files, and the domains that they count."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    found = []
    for name in names:
        match = _FILE.match(name)
        if match and not (match[2] and match[1] + "_energy" in names):  # a component that another counter includes
            kind, number = match.groups()
            found.append((name, _DOMAINS[kind] + number if kind else "node"))
    return found
