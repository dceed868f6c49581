"""What Slurm's commands say of the cluster, asked once; what it means is for others to judge."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from dataclasses import dataclass, field

from hpcbench.config.site import Site
from hpcbench.slurm import cluster_query

# Words of sinfo(1), NODE STATE CODES, for nodes that take jobs now or when others have ended. Marks for nodes that
# save power, boot or the like may follow; a star means that the node does not answer.
_TAKES_JOBS = ("idle", "mixed", "allocated", "completing", "planned", "reserved")


@dataclass(frozen=True)
class Nodes:
    """The nodes of a partition, and how jobs share their CPUs: NO, YES:4, FORCE:4 or EXCLUSIVE."""

    total: int = 0
    usable: int = 0
    sharing: str = ""


@dataclass(frozen=True)
class Association:
    """What accounting lets this user do under one account."""

    account: str
    default_qos: str
    qos: tuple[str, ...]
    max_submit_jobs: int | None


@dataclass(frozen=True)
class Cluster:
    """A cluster whose Slurm answers."""

    config: Mapping[str, str]
    site: Site  # what `hpcbench init` would write
    nodes: Mapping[str, Nodes] = field(default_factory=dict)
    associations: tuple[Association, ...] | None = None  # None where sacctmgr gives no answer
    qos_limits: Mapping[str, int] = field(default_factory=dict)  # most submitted jobs of a user, by QOS
    sacct_answers: bool = False

    @property
    def keeps_accounts(self) -> bool:
        return not self.config.get("AccountingStorageType", "none").endswith("none")

    def enforces(self, *any_of: str) -> bool:
        """Whether jobs beyond what accounting allows are refused: words of AccountingStorageEnforce, slurm.conf(5)."""
        return bool({*any_of, "all"} & set(self.config.get("AccountingStorageEnforce", "").split(",")))


def ask_cluster() -> Cluster:
    """Never fails: what gives no answer is empty."""
    config = cluster_query.config()
    found = Cluster(config, Site.model_validate(cluster_query.probe().site), _nodes())
    if not found.keeps_accounts:
        return found
    answers = cluster_query.ask(["sacct", "--noheader", "--allocations", "--starttime=now-1minutes"]) is not None
    return Cluster(config, found.site, found.nodes, _associations(), _qos_limits(), answers)


def _nodes() -> dict[str, Nodes]:
    found: dict[str, Nodes] = {}
    for line in cluster_query.ask(["sinfo", "--noheader", "--format=%P|%T|%D|%h"]) or []:
        name, state, count, sharing = line.split("|")
        before = found.get(name.rstrip("*"), Nodes())
        usable = int(count) if state.startswith(_TAKES_JOBS) and "*" not in state else 0
        found[name.rstrip("*")] = Nodes(before.total + int(count), before.usable + usable, sharing)
    return found


def _associations() -> tuple[Association, ...] | None:
    words = ["sacctmgr", "--noheader", "--parsable2", "show", "assoc", f"user={getpass.getuser()}"]
    lines = cluster_query.ask([*words, "format=account,defaultqos,qos,maxsubmitjobs"])
    if lines is None:
        return None
    rows = (line.split("|") for line in lines)
    return tuple(
        Association(account, default, tuple(filter(None, qos.split(","))), int(most) if most.isdigit() else None)
        for account, default, qos, most in rows
    )


def _qos_limits() -> dict[str, int]:
    lines = cluster_query.ask(
        ["sacctmgr", "--noheader", "--parsable2", "show", "qos", "format=name,maxsubmitjobsperuser"]
    )
    rows = (line.split("|") for line in lines or [])
    return {name: int(most) for name, most in rows if most.isdigit()}
