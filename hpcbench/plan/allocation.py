"""What a job takes of its site: what it asks for, or whole nodes where it shares them with nobody."""

from __future__ import annotations

from hpcbench.config.pricing import Taken
from hpcbench.config.site import Partition, Site
from hpcbench.plan.packing import Resources


def taken(resources: Resources, site: Site, width: int = 1, cpus: int | None = None) -> Taken:
    """What a job takes that runs `width` repetitions side by side.

    `cpus` are those of all its nodes, where these have told; else the site file may know how large they are. Where
    there is no scheduler, nobody keeps the rest of the machine for others: the cores that are asked for count, and a
    price of the node, if there is one.
    """
    cores, gpus = width * resources.cores, width * resources.gpus
    if site.scheduler == "local" or not resources.slurm.exclusive:
        return Taken(resources.nodes, cores, gpus, whole_nodes=site.scheduler == "local")
    partition = site.partitions.get(resources.slurm.partition or site.default_partition or "", Partition())
    all_cores = cpus or _of_all(resources.nodes, partition.cpus_per_node)
    all_gpus = _of_all(resources.nodes, partition.gpus_per_node)
    unknown = None
    if all_cores is None:
        unknown = "how many CPUs its nodes have"
    elif gpus and all_gpus is None:
        unknown = "how many GPUs its nodes have"
    return Taken(resources.nodes, max(cores, all_cores or 0), max(gpus, all_gpus or 0), True, unknown)


def _of_all(nodes: int, each: int | None) -> int | None:
    return None if each is None else nodes * each
