"""The energy that one component of a node used during a time window."""

from dataclasses import dataclass
from typing import Optional

from .record_field import described

COUNTER, INTEGRATED = "counter", "integrated power"
J_PER_KWH = 3.6e6
# Each kind of component, the prefixes of its domains, and its sources by priority. The counters of a device come before
# those of its blade, which are coarser and do not show which GPU belongs to which job.
KIND_SOURCES = (
    ("cpu", ("cpu",), ("rapl", "grace", "cray")),
    ("memory", ("dram",), ("rapl", "cray")),
    ("gpu", ("gpu", "accelerator"), ("nvidia_energy", "amd_energy", "cray")),
    ("node", ("node",), ("cray",)),
)
KINDS = tuple(kind for kind, _, _ in KIND_SOURCES)


@dataclass(frozen=True)
class Energy:
    """The energy of one component of a node."""

    kind: str = described("`cpu`, `memory`, `gpu` or `node`")
    source: Optional[str] = described("the source of counters or sensors; null if the node has none")
    domain: str = described("the component: `cpu0`, `dram0`, `gpu0`, `accelerator0` or `node`")
    joules: Optional[float] = described("energy in J; null if it was not measured", default=None)
    uncertainty_j: Optional[float] = described("expanded uncertainty of `joules` (about 95 %)", default=None)
    method: Optional[str] = described("`counter` or `integrated power`", default=None)
    sensor: Optional[str] = described("name of the sensor in power_sensors.py", default=None)
    reason: Optional[str] = described("why `joules` is null", default=None)
    remark: Optional[str] = described("a caveat about the number", default=None)
