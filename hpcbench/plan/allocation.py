"""What a job occupies at its site: what it requests, or whole nodes if it shares them with no other job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpcbench.config.pricing import Allocation
from hpcbench.config.site import Partition, Site

if TYPE_CHECKING:
    from hpcbench.plan.packing import Resources


def allocation_of(resources: Resources, site: Site, width: int = 1, cpus: int | None = None) -> Allocation:
    """Return what a job occupies that runs `width` runs concurrently.

    `cpus` are the CPUs of all its nodes, if known from a record; otherwise the site file may give their number.
    Without a scheduler the rest of the machine is not reserved: the requested cores count, and the price of the node,
    if there is one.
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
