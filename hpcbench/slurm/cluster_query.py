"""Query a cluster with sinfo, scontrol, sacctmgr and sacct, and describe it as a site."""

from __future__ import annotations

import os
import pwd
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hpcbench.config.site import Site
from hpcbench.errors import UserError
from hpcbench.slurm.client import (
    QUERY_TIMEOUT_S,
    NoAnswerError,
    output_or_none,
    quoted,
    rows_of,
    rows_or_none,
    run,
)
from hpcbench.slurm.cluster_config import has_accounting, query_config
from hpcbench.slurm.nodes import accepts_jobs, gpus_in
from hpcbench.util.text import printable

# Errors of the commands if there is no slurm.conf, and the DNS has no record of a controller. If the DNS does not
# respond, there may be a cluster.
_NOT_CONFIGURED = ("res_nsearch error: Unknown host", "res_nsearch error: No address associated with name")
_SINFO = ("sinfo", "--noheader", "--all")  # also hidden partitions: their users may submit to them
_SACCTMGR = ["sacctmgr", "--noheader", "--parsable2", "show"]


@dataclass(frozen=True)
class Nodes:
    """The nodes of a partition, and how jobs share their CPUs: NO, YES:4, FORCE:4 or EXCLUSIVE."""

    total: int = 0
    usable: int = 0
    sharing: str = ""


@dataclass(frozen=True)
class Association:
    """An account of this user, with its QOS and its limit on submitted jobs."""

    account: str
    default_qos: str
    qos: tuple[str, ...]
    max_submit_jobs: int | None


@dataclass
class Probe:
    """A site as far as it could be queried, and a message for each missing fact."""

    site: dict[str, Any]
    unknown: list[str] = field(default_factory=list)
    associations: tuple[Association, ...] | None = None  # of this user; None if unknown


@dataclass(frozen=True)
class Cluster:
    """A cluster whose slurmctld responds."""

    config: Mapping[str, str]
    site: Site  # as `hpcbench init` writes it
    nodes: Mapping[str, Nodes] = field(default_factory=dict)
    associations: tuple[Association, ...] | None = None  # of this user; None if unknown
    qos_limits: Mapping[str, int] = field(default_factory=dict)  # MaxSubmitJobsPerUser by QOS
    sacct_responds: bool = False

    @property
    def has_accounting(self) -> bool:
        """Return whether the cluster stores accounting data (AccountingStorageType)."""
        return has_accounting(self.config)

    def enforces(self, *any_of: str) -> bool:
        """Return whether AccountingStorageEnforce, slurm.conf(5), has one of these words or "all"."""
        return bool({*any_of, "all"} & set(self.config.get("AccountingStorageEnforce", "").split(",")))


def slurm_responds() -> bool:
    """Return whether a Slurm cluster is configured here and responds.

    Raise UserError if it is configured and does not respond: hpcbench must not run jobs on its login node instead. Only
    the commands know where their slurm.conf is: in a built-in directory, or fetched from a controller.
    """
    if shutil.which("scontrol") is None:
        if not _has_slurm_conf():
            return False
        raise _silent("scontrol not found in PATH")
    try:
        # ping reports immediately that slurmctld is down; sinfo would try again for a long time.
        reply = run(["scontrol", "ping"], timeout_s=QUERY_TIMEOUT_S)
    except UserError as error:
        raise _silent(error.what) from error
    if any("is UP" in line for line in reply.lines):
        return True
    said = quoted([*reply.lines, *reply.errors])
    if not _has_slurm_conf() and any(text in said for text in _NOT_CONFIGURED):
        return False
    raise _silent(said or f"scontrol ping ended with status {reply.status}")


def _has_slurm_conf() -> bool:
    return "SLURM_CONF" in os.environ or Path("/etc/slurm/slurm.conf").exists()


def _silent(said: str) -> UserError:
    return UserError(
        f"Slurm is configured on this host, but not responding: {said}",
        hint="to run on this machine, add --local, or --site laptop",
    )


def query_cluster(cluster: str | None = None) -> Cluster:
    """Return the cluster that the Slurm commands reach; with `cluster`, another one of its slurmdbd.

    A fact that cannot be queried is empty.
    """
    config = query_config(cluster)
    accounting = has_accounting(config)
    found = _describe(config, cluster)
    recent = ["sacct", "--noheader", "--allocations", "--starttime=now-1minutes"]
    return Cluster(
        config,
        Site.model_validate(found.site),
        _query_nodes(cluster),
        found.associations,
        _query_qos_limits() if accounting else {},
        accounting and output_or_none(recent, cluster) is not None,
    )


def probe() -> Probe:
    """Return the cluster that the Slurm commands reach as a site. A fact that cannot be queried is in `unknown`."""
    return _describe(query_config(), None)


def cluster_name() -> str | None:
    """Return the name of the cluster that the Slurm commands reach, or None if Slurm does not respond."""
    name = query_config().get("ClusterName")
    return None if name is None else _plain(name)


def query_associations(config: Mapping[str, str]) -> tuple[Association, ...]:
    """Return this user's associations on the cluster.

    Raise NoAnswerError if sacctmgr fails, and UserError if it is not found or the user has no name here.
    """
    name = _user_name()
    if name is None:
        raise UserError(f"this machine has no user name for UID {os.getuid()}")
    chosen = [f"user={name}", *([f"cluster={config['ClusterName']}"] if "ClusterName" in config else [])]
    rows = rows_of([*_SACCTMGR, "assoc", *chosen, "format=account,defaultqos,qos,maxsubmitjobs"], 4)
    return tuple(
        Association(account, default, tuple(filter(None, qos.split(","))), _number(limit))
        for account, default, qos, limit in rows
    )


def _query_qos_limits() -> dict[str, int]:
    rows = rows_or_none([*_SACCTMGR, "qos", "format=name,maxsubmitjobsperuser"], 2) or []
    return {name: int(limit) for name, limit in rows if limit.isdigit()}


def _query_nodes(cluster: str | None) -> dict[str, Nodes]:
    found: dict[str, Nodes] = {}
    rows = rows_or_none([*_SINFO, "--format=%P|%T|%D|%h"], 4, cluster) or []
    for partition, state, count, sharing in (row for row in rows if row[2].isdecimal()):
        before = found.get(partition.rstrip("*"), Nodes())
        usable = int(count) if accepts_jobs(state) else 0
        found[partition.rstrip("*")] = Nodes(before.total + int(count), before.usable + usable, sharing)
    return found


def _describe(config: Mapping[str, str], cluster: str | None) -> Probe:
    name = _plain(config.get("ClusterName", ""))
    result = Probe({"name": name, "scheduler": "slurm", "partitions": {}, "limits": {}})
    if not config:
        result.unknown.append("limits of the cluster: scontrol show config failed")
    _add_array_limit(config, result)
    _add_partitions(result, cluster)
    if has_accounting(config):
        _add_associations(config, result)
    else:
        result.unknown.append("accounts and QOS: this cluster has no accounting")
    result.unknown.append("prices and electricity: Slurm has no data on cost and carbon")
    return result


def _add_array_limit(config: Mapping[str, str], result: Probe) -> None:
    size = config.get("MaxArraySize", "")
    tasks = re.search(r"\bmax_array_tasks=(\d+)", config.get("SchedulerParameters", ""))  # a smaller limit, if set
    if size.isdigit() and int(size) > 0:
        result.site["limits"]["max_array_size"] = min(int(size), int(tasks[1]) if tasks else int(size))
    else:
        result.unknown.append("limits.max_array_size: hpcbench uses Slurm's default, 1001")


def _add_partitions(result: Probe, cluster: str | None) -> None:
    rows = rows_or_none([*_SINFO, "--exact", "--format=%P|%l|%D|%c|%m|%G|%s"], 7, cluster)
    if rows is None:
        result.unknown.append("partitions: sinfo failed")
        return
    for name, max_time, nodes, cpus, memory, gres, size in rows:
        partition = result.site["partitions"].setdefault(name.rstrip("*"), {})
        if _number(nodes):
            partition["nodes"] = partition.get("nodes", 0) + int(nodes)
        if name.endswith("*"):
            partition["default"] = True
        if re.match(r"[\d:-]*[1-9][\d:-]*\Z", max_time):
            partition["max_time"] = max_time
        _store_largest(partition, "max_nodes", _number(size.rpartition("-")[2]))
        # A line is one kind of node: a case fits if the largest kind is large enough.
        _store_largest(partition, "cpus_per_node", _number(cpus))
        _store_largest(partition, "memory_mb_per_node", _number(memory))
        _store_largest(partition, "gpus_per_node", gpus_in(gres))


def _add_associations(config: Mapping[str, str], result: Probe) -> None:
    try:
        result.associations = associations = query_associations(config)
    except UserError as error:
        again = "; when slurmdbd responds, remove the site file and run `hpcbench init` again"
        hint = again if isinstance(error, NoAnswerError) else ""
        result.unknown.append(f"accounts and QOS: {printable(error.what)}{hint}")
        return
    if not associations:
        result.unknown.append("accounts and QOS: sacctmgr shows no association of this user")
        return
    accounts = list(dict.fromkeys(each.account for each in associations))
    if len(accounts) > 1:
        yours = ", ".join(accounts)
        result.unknown.append(f"slurm.account: you may use {yours}; the default is SBATCH_ACCOUNT, then Slurm's")
    limits = [each.max_submit_jobs for each in associations if each.max_submit_jobs]
    if limits:
        result.site["limits"]["max_submit_jobs"] = min(limits)


def _store_largest(partition: dict[str, Any], key: str, value: int | None) -> None:
    if value is not None:
        partition[key] = max(partition.get(key, value), value)


def _number(text: str) -> int | None:
    match = re.match(r"\d+", text)
    return int(match.group()) if match and int(match.group()) > 0 else None


def _plain(name: str) -> str:
    """Return the name with characters that a file name can have."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", name).lstrip("-_") or "cluster"


def _user_name() -> str | None:
    """Return the user's name in Slurm, or None if the UID has no name on this machine.

    After su, USER and LOGNAME may name another user.
    """
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return None
