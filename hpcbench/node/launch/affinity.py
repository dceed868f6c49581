"""The CPUs of each instance of a task, and of the threads of an instance.

The policies resemble those of OpenMP's OMP_PROC_BIND and Slurm's --distribution: `compact` fills core after core,
`scatter` alternates between the NUMA nodes, `numa` places an instance within one node, and `cores` uses only one
hardware thread of each core.
"""

from itertools import zip_longest
from typing import Dict, List, Optional, Sequence

from ..host.topology import Cpu, cores_first

COMPACT, SCATTER, NUMA, CORES = "compact", "scatter", "numa", "cores"


def places(cpus: Sequence[Cpu], instances: int, threads: Optional[int], policy: Optional[str]) -> List[List[int]]:
    """Return the CPUs of each instance, as sorted numbers.

    Shares are as equal as possible, and no two instances share a CPU unless there are more instances than CPUs that the
    policy uses. With a policy, an instance with `threads` gets that many CPUs of its share; otherwise it gets the whole
    share.
    """
    parts = _within_nodes(cpus, instances, threads) if policy == NUMA else _parts(_order(cpus, policy), instances)
    if policy in (SCATTER, NUMA):  # threads of an instance share a core only when no core is free
        parts = [cores_first(part) for part in parts]
    wanted = threads if policy else None
    return [sorted(cpu.number for cpu in part[:wanted]) for part in parts]


def _order(cpus: Sequence[Cpu], policy: Optional[str]) -> List[Cpu]:
    """Return the usable CPUs in the order of instances, hardware threads of a core together."""
    cores = _cores(cpus)
    if policy == CORES:
        return [core[0] for core in cores]
    if policy == SCATTER:
        cores = _round_the_nodes(cores)
    return [cpu for core in cores for cpu in core]


def _cores(cpus: Sequence[Cpu]) -> List[List[Cpu]]:
    """Return the usable CPUs of each core, node after node."""
    cores: Dict[int, List[Cpu]] = {}
    for cpu in sorted(cpus, key=lambda cpu: (cpu.socket, cpu.node, cpu.core, cpu.number)):
        cores.setdefault(cpu.core, []).append(cpu)
    return list(cores.values())


def _round_the_nodes(cores: List[List[Cpu]]) -> List[List[Cpu]]:
    """Return the first core of each NUMA node, then the second of each, and so on."""
    nodes: Dict[int, List[List[Cpu]]] = {}
    for core in cores:
        nodes.setdefault(core[0].node, []).append(core)
    return [core for turn in zip_longest(*nodes.values()) for core in turn if core]


def _parts(cpus: Sequence[Cpu], count: int) -> List[List[Cpu]]:
    """Split `cpus` into `count` parts, of which the first may have one more; repeat CPUs if they are too few."""
    if count > len(cpus):
        return [[cpus[place % len(cpus)]] for place in range(count)]
    ends = _ends(len(cpus), count)
    return [list(cpus[start:end]) for start, end in zip([0] + ends, ends)]


def _ends(length: int, count: int) -> List[int]:
    """Return the end index of each of `count` equal parts of a sequence."""
    size, larger = divmod(length, count)
    return [size * place + min(place, larger) for place in range(1, count + 1)]


def _within_nodes(cpus: Sequence[Cpu], instances: int, threads: Optional[int]) -> List[List[Cpu]]:
    """Return parts within one NUMA node each.

    With fewer instances than nodes, a part has several nodes unless `threads` fit on one.
    """
    nodes: Dict[int, List[Cpu]] = {}
    for cpu in _order(cpus, COMPACT):
        nodes.setdefault(cpu.node, []).append(cpu)
    if instances >= len(nodes):
        parts = []
        for node, count in zip(nodes.values(), _shared_out(instances, list(nodes.values()))):
            parts += _parts(node, count)
        return parts
    each, ends = list(nodes.values()), _ends(len(nodes), instances)
    several = [[cpu for node in each[start:end] for cpu in node] for start, end in zip([0] + ends, ends)]
    return several if threads is None else [_narrowed(part, threads) for part in several]


def _shared_out(instances: int, nodes: List[List[Cpu]]) -> List[int]:
    """Return how many instances each node takes: at least one, and more on nodes with more CPUs."""
    counts = [1] * len(nodes)
    for _ in range(instances - len(nodes)):
        best = max(range(len(nodes)), key=lambda place: len(nodes[place]) / (counts[place] + 1))
        counts[best] += 1
    return counts


def _narrowed(part: List[Cpu], threads: int) -> List[Cpu]:
    """Return the CPUs of the part's largest NUMA node if the threads fit there, otherwise the whole part."""
    nodes: Dict[int, List[Cpu]] = {}
    for cpu in part:
        nodes.setdefault(cpu.node, []).append(cpu)
    largest = max(nodes.values(), key=len)
    return largest if threads <= len(largest) else part
