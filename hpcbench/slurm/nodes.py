"""The nodes of partitions as sinfo lists them, and lists of their names in Slurm's short form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hpcbench.errors import UserError
from hpcbench.slurm.client import output_of

# States of sinfo(1), NODE STATE CODES, of nodes that accept jobs now or after other jobs. A suffix may follow, e.g. for
# power saving; an asterisk marks a node that does not respond.
_ACCEPTS_JOBS = ("idle", "mixed", "allocated", "completing", "planned", "reserved")


@dataclass(frozen=True)
class Node:
    """A node, the first of the chosen partitions that has it, and its state, e.g. `idle` or `drained: bad memory`."""

    name: str
    partition: str
    cpus: int
    gpus: int
    state: str
    usable: bool
    gpu_types: tuple[str, ...] = ()


def accepts_jobs(state: str) -> bool:
    """Return whether a node in this state of sinfo accepts jobs, now or after other jobs."""
    return state.startswith(_ACCEPTS_JOBS) and "*" not in state


def gpus_in(gres: str) -> int:
    """Return 2 for `gpu:v100:2(S:0),license:3`."""
    return sum(int(count) for count in re.findall(r"gpu(?::[^:,(]+)?:(\d+)", gres))


def gpu_types_in(gres: str) -> tuple[str, ...]:
    """Return the types of the GPUs in generic resources: `v100` for `gpu:v100:2(S:0),license:3`."""
    return tuple(dict.fromkeys(re.findall(r"gpu:([^:,()]+):\d+", gres)))


def query_nodes(partitions: Sequence[str], cluster: str | None) -> list[Node]:
    """Return the nodes of these partitions, each once, in the order of sinfo. Raise UserError if sinfo fails."""
    # Of all partitions: sinfo does not accept --partition together with --all, which includes hidden ones.
    lines = output_of(["sinfo", "--noheader", "--all", "--Node", "--format=%N|%P|%c|%G|%T|%E"], cluster)
    rows = [line.split("|", 5) for line in lines]
    every = [_node(row) for row in rows if len(row) == 6 and row[2].isdecimal()]  # a site may print a greeting
    listed = [node for node in every if node.partition in partitions]
    nodes: dict[str, Node] = {}
    for node in sorted(listed, key=lambda node: partitions.index(node.partition)):
        nodes.setdefault(node.name, node)
    return [nodes[name] for name in dict.fromkeys(node.name for node in listed)]


def _node(row: Sequence[str]) -> Node:
    name, partition, cpus, gres, state, reason = row
    described = state if reason in ("none", "") else f"{state}: {reason}"
    types = gpu_types_in(gres)
    return Node(name, partition.rstrip("*"), int(cpus), gpus_in(gres), described, accepts_jobs(state), types)


def node_list(names: Sequence[str], cluster: str | None) -> str:
    """Return node names as a list for --exclude and --nodelist: `n[1-3,7]`, or with commas if scontrol fails."""
    joined = ",".join(names)
    try:
        lines = output_of(["scontrol", "show", "hostlist", joined], cluster)
    except UserError:
        return joined
    return lines[-1].strip() if lines else joined
