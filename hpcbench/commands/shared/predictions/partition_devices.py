"""The devices of the nodes of a partition: those that `hpcbench doctor` measured, and GPU types that Slurm names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from hpcbench.commands.shared.predictions.case_devices import NAME_ONE, Find, kind_of
from hpcbench.config.site import Site
from hpcbench.errors import UserError
from hpcbench.plan.case import Case
from hpcbench.predict.devices.device import GPU, Device
from hpcbench.predict.devices.known import KnownDevices
from hpcbench.slurm.node_list import expand
from hpcbench.slurm.nodes import Node, query_nodes


def of_partitions(site: Site, known: KnownDevices) -> Find:
    """Return how to find the device of the nodes on which Slurm may start a case.

    It is unknown if no node of the partition was measured, or if its nodes have several devices.
    """

    failed: list[UserError] = []

    @cache
    def nodes_of(partitions: tuple[str, ...]) -> list[Node]:
        try:
            return query_nodes(partitions, site.cluster)
        except UserError as error:  # only what the case names is known
            failed.append(error)
            return []

    def find(case: Case) -> Device:
        slurm, kind = case.slurm, kind_of(case)
        if kind == GPU and slurm.gpu_type and known.table.short_name(slurm.gpu_type):
            return known.find(slurm.gpu_type)
        partition = slurm.partition or site.default_partition or ""
        nodes = nodes_of(tuple(partition.split(",")))
        chosen, left_out = (set(expand(names)) if names else set() for names in (slurm.nodelist, slurm.exclude))
        used = [node for node in nodes if node.name not in left_out and (not chosen or node.name in chosen)]
        found = {device.name: device for device in (*_measured(used, known, kind), *_of_types(used, known, kind))}
        where = f"partition '{partition}'" if partition else "the default partition"
        if len(found) > 1:
            raise UserError(f"{where} has several devices: {', '.join(found)}", where="--predict", hint=NAME_ONE)
        if not found:
            raise _unknown(where, [each for node in used for each in node.gpu_types] if kind == GPU else [], failed)
        return next(iter(found.values()))

    return find


def _unknown(where: str, gpu_types: Sequence[str], failed: Sequence[UserError]) -> UserError:
    """Return the error for a partition whose device is unknown.

    Slurm names its GPUs `gpu_types`, if it has any. `failed` has the reason if Slurm did not respond.
    """
    if not gpu_types:
        hint = f"measure a node: hpcbench doctor --on-node\nor {NAME_ONE}"
        why = "".join(f": {each.what}" for each in failed[:1])
        return UserError(f"the device of {where} is unknown{why}", where="--predict", hint=hint)
    what = f"the GPU '{gpu_types[0]}' of {where} has no description"
    names = f"with names: [{gpu_types[0]}]: docs/reference/devices.md"
    return UserError(what, where="--predict", hint=f"describe it in a file in configs/devices, {names}\nor {NAME_ONE}")


def _measured(nodes: list[Node], known: KnownDevices, kind: str) -> Iterator[Device]:
    """Yield the devices of those nodes that `hpcbench doctor` measured."""
    hosts = {node.name for node in nodes}
    for name, machine in known.machines.items():
        if hosts.isdisjoint(machine.hosts):
            continue
        try:
            yield known.find(name, kind)
        except UserError:  # it has no such device, or the device has no description
            continue


def _of_types(nodes: list[Node], known: KnownDevices, kind: str) -> Iterator[Device]:
    """Yield the described GPUs among the types that Slurm names, except those of measured nodes."""
    hosts = _measured_hosts(known)
    measured = {each for node in nodes if node.name in hosts for each in node.gpu_types}
    for gpu_type in dict.fromkeys(each for node in nodes for each in node.gpu_types):
        if kind == GPU and gpu_type not in measured and known.table.short_name(gpu_type):
            yield known.find(gpu_type)


def _measured_hosts(known: KnownDevices) -> set[str]:
    return {host for machine in known.machines.values() for host in machine.hosts}
