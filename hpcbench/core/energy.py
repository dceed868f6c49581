"""The energy that one component of a node used during a time window."""

from typing import NamedTuple, Optional

COUNTER, INTEGRATED = "counter", "integrated power"
J_PER_KWH = 3.6e6
# Each kind of component, the prefixes of its domains, and its sources by priority. The counters of a device come before
# those of its blade, which are coarser and do not show which GPU belongs to which job.
KIND_SOURCES = (
    ("cpu", ("cpu",), ("rapl", "cray")),
    ("memory", ("dram",), ("rapl", "cray")),
    ("gpu", ("gpu", "accelerator"), ("nvidia_energy", "amd_energy", "cray")),
    ("node", ("node",), ("cray",)),
)
KINDS = tuple(kind for kind, _, _ in KIND_SOURCES)


class Energy(NamedTuple):
    """The energy of one component of a node. Without `joules`, `reason` says why."""

    kind: str  # cpu, memory, gpu, node
    source: Optional[str]  # None if there is no source
    domain: str  # cpu0, dram0, gpu0, accelerator0 or node, unique on one node
    joules: Optional[float] = None
    uncertainty_j: Optional[float] = None
    method: Optional[str] = None  # COUNTER or INTEGRATED
    sensor: Optional[str] = None  # its name in power_sensors.py
    reason: Optional[str] = None
    remark: Optional[str] = None  # a caveat about the number
