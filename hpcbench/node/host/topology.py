"""The core, socket and NUMA node of each CPU.

Linux: Documentation/admin-guide/cputopology.rst and Documentation/ABI/stable/sysfs-devices-node.
"""

from typing import Dict, List, NamedTuple, Optional, Sequence

from ...core import ranges
from .sysfs import System


class Cpu(NamedTuple):
    """A hardware thread. Its core has the number of the first CPU on it."""

    number: int
    core: int
    socket: int
    node: int


def read(system: System) -> List[Cpu]:
    """Return the usable CPUs of a machine; without topology in sysfs, each is a core, and all are on one node."""
    nodes, found = _nodes(system), []
    for cpu in system.cpus:
        core = _core(system, cpu)
        found.append(Cpu(cpu, cpu if core is None else core, _socket(system, cpu), nodes.get(cpu, 0)))
    return found


def physical_cores(system: System) -> Optional[int]:
    """Return the number of cores of the usable CPUs; None if the kernel does not report it."""
    cores = {_core(system, cpu) for cpu in system.cpus}
    return None if None in cores else len(cores)


def cores_first(cpus: Sequence[Cpu]) -> List[Cpu]:
    """Return CPUs so that the first hardware threads of all cores come before any second one, otherwise in order."""
    taken: Dict[int, int] = {}
    turns = {}
    for cpu in cpus:
        turns[cpu] = taken[cpu.core] = taken.get(cpu.core, 0) + 1
    return sorted(cpus, key=turns.__getitem__)


def _core(system: System, cpu: int) -> Optional[int]:
    siblings = ranges.expand(system.text(_topology(cpu) + "thread_siblings_list"))
    return min(siblings, default=None)


def _socket(system: System, cpu: int) -> int:
    return max(0, system.number(_topology(cpu) + "physical_package_id") or 0)  # -1 on some virtual machines


def _topology(cpu: int) -> str:
    return "sys/devices/system/cpu/cpu%d/topology/" % cpu


def _nodes(system: System) -> Dict[int, int]:
    """Return the NUMA node of each CPU."""
    found = {}
    for path in system.matching("sys/devices/system/node/node[0-9]*/cpulist"):
        node = int(path.split("/")[-2][len("node") :])
        found.update(dict.fromkeys(ranges.expand(system.text(path)), node))
    return found


def core_of(system: System, cpu: int) -> str:
    """Return the core of a CPU as the list of its CPUs; as that CPU alone if it is unknown."""
    return system.text("sys/devices/system/cpu/cpu%d/topology/thread_siblings_list" % cpu) or str(cpu)
