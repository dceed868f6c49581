"""The energy that one component of a node used in a window of time."""

from typing import NamedTuple, Optional

COUNTER, INTEGRATED = "counter", "integrated power"
J_PER_KWH = 3.6e6
# Each kind of part, how its domains begin, and the sources that tell of it. A device's own counters come before those
# of its blade, which are coarser and do not know which GPU is whose.
KIND_SOURCES = (
    ("cpu", ("cpu",), ("rapl", "cray")),
    ("memory", ("dram",), ("rapl", "cray")),
    ("gpu", ("gpu", "accelerator"), ("nvidia_energy", "amd_energy", "cray")),
    ("node", ("node",), ("cray",)),
)
KINDS = tuple(kind for kind, _, _ in KIND_SOURCES)


class Energy(NamedTuple):
    """What one part of the node took. Without a number there is a reason."""

    kind: str  # cpu, memory, gpu, node
    source: Optional[str]  # who tells; None where nobody does
    domain: str  # cpu0, dram0, gpu0, accelerator0, node: of one node
    joules: Optional[float] = None
    uncertainty_j: Optional[float] = None
    method: Optional[str] = None  # COUNTER or INTEGRATED
    sensor: Optional[str] = None  # its name in power_sensors.py
    reason: Optional[str] = None
    remark: Optional[str] = None  # what to know about the number
