"""The allocation of a job at its site: the requested resources, or whole nodes if these are exclusive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpcbench.config.pricing import Allocation
from hpcbench.config.site import Partition, Site

if TYPE_CHECKING:
    from hpcbench.plan.packing import Resources


def allocation_of(resources: Resources, site: Site, width: int = 1, cpus: int | None = None) -> Allocation:
    """Return the allocation of a job with `width` concurrent runs.

    `cpus` is the number of CPUs of all its nodes, if known from a record; otherwise it is taken from the site file. On
    a local site, the requested cores count, since the rest of the machine is not reserved, but the node price applies,
    if any.
    """
    cores, gpus = width * resources.cores, width * resources.gpus
    if site.scheduler == "local" or not resources.slurm.exclusive:
        return Allocation(resources.nodes, cores, gpus, whole_nodes=site.scheduler == "local")
    partition = site.partitions.get(resources.slurm.partition or site.default_partition or "", Partition())
    all_cores = cpus or _of_all(resources.nodes, partition.cpus_per_node)
    all_gpus = _of_all(resources.nodes, partition.gpus_per_node)
    unknown = None
    if all_cores is None:
        unknown = "the number of CPUs per node"
    elif gpus and all_gpus is None:
        unknown = "the number of GPUs per node"
    return Allocation(resources.nodes, max(cores, all_cores or 0), max(gpus, all_gpus or 0), True, unknown)


def _of_all(nodes: int, each: int | None) -> int | None:
    return None if each is None else nodes * each
