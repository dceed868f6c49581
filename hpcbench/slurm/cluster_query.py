"""Query a cluster with sinfo, scontrol and sacctmgr, and describe it as a site."""

from __future__ import annotations

import getpass
import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hpcbench.errors import UserError
from hpcbench.slurm.client import answer

TIMEOUT_S = 10


@dataclass
class Probe:
    """A site as far as it could be queried, and a message for each missing fact."""

    site: dict[str, Any]
    unknown: list[str] = field(default_factory=list)


def slurm_answers() -> bool:
    """Return whether a Slurm cluster is configured here and responds.

    Raise UserError if it is configured and does not respond: hpcbench must not run jobs on its login node instead.
    """
    if shutil.which("scontrol") is None:
        return False
    # ping reports immediately that slurmctld is down; sinfo would try again for a long time.
    replies = ask(["scontrol", "ping"])
    if any("is UP" in line for line in replies or []):
        return True
    if "SLURM_CONF" not in os.environ and not Path("/etc/slurm/slurm.conf").exists():
        return False  # the commands are installed, but no cluster is configured
    raise UserError(
        "Slurm is set up here and does not answer" + (f": {' '.join(replies)}" if replies else ""),
        hint="--local runs on this machine; --site laptop too",
    )


def probe() -> Probe:
    """Return the cluster that the Slurm commands reach. A fact that cannot be queried is listed in `unknown`."""
    told = config()
    result = Probe(
        {
            "name": _plain(told.get("ClusterName", "")),
            "scheduler": "slurm",
            "partitions": {},
            "limits": {},
            "environments": {},
        }
    )
    if not told:
        result.unknown.append("limits of the cluster: scontrol show config gave no answer")
    _limits(told, result)
    _partitions(result)
    _associations(told, result)
    result.unknown.append("prices and electricity: cost and carbon are not known to Slurm")
    return result


def _limits(config: dict[str, str], result: Probe) -> None:
    size = config.get("MaxArraySize", "")
    most = re.search(r"\bmax_array_tasks=(\d+)", config.get("SchedulerParameters", ""))  # a smaller limit, if set
    if size.isdigit() and int(size) > 0:
        result.site["limits"]["max_array_size"] = min(int(size), int(most[1]) if most else int(size))
    else:
        result.unknown.append("limits.max_array_size: taken as Slurm's default, 1001")


def _partitions(result: Probe) -> None:
    lines = ask(["sinfo", "--noheader", "--exact", "--format=%P|%l|%D|%c|%m|%G|%s"])
    if lines is None:
        result.unknown.append("partitions: sinfo gave no answer")
        return
    for line in lines:
        name, max_time, nodes, cpus, memory, gres, size = line.split("|")
        partition = result.site["partitions"].setdefault(name.rstrip("*"), {})
        if _number(nodes):
            partition["nodes"] = partition.get("nodes", 0) + int(nodes)
        if name.endswith("*"):
            partition["default"] = True
        if re.match(r"[\d:-]*[1-9][\d:-]*\Z", max_time):
            partition["max_time"] = max_time
        _keep(partition, "max_nodes", _number(size.rpartition("-")[2]))
        # A line is one kind of node: a case fits if the largest kind is large enough.
        _keep(partition, "cpus_per_node", _number(cpus))
        _keep(partition, "memory_mb_per_node", _number(memory))
        _keep(partition, "gpus_per_node", _gpus(gres))


def _associations(config: dict[str, str], result: Probe) -> None:
    if config.get("AccountingStorageType", "").endswith("none"):
        result.unknown.append("accounts and QOS: this cluster keeps no accounting")
        return
    command = ["sacctmgr", "--noheader", "--parsable2", "show", "assoc", f"user={getpass.getuser()}"]
    lines = ask([*command, "format=account,maxsubmitjobs"])
    if not lines:
        result.unknown.append("accounts and QOS: sacctmgr knows no association of yours")
        return
    accounts = list(dict.fromkeys(line.split("|")[0] for line in lines))
    if len(accounts) > 1:
        result.unknown.append(f"slurm.account: you may use {', '.join(accounts)}; Slurm's default is taken")
    limits = [value for line in lines if (value := _number(line.split("|")[1]))]
    if limits:
        result.site["limits"]["max_submit_jobs"] = min(limits)


def cluster_name() -> str | None:
    """Return the name of the cluster that the Slurm commands reach, or None if Slurm does not respond."""
    name = config().get("ClusterName")
    return None if name is None else _plain(name)


def config() -> dict[str, str]:
    """Return the options that `scontrol show config` prints, or an empty dict if it fails."""
    lines = ask(["scontrol", "show", "config"]) or []
    pairs = (line.partition("=") for line in lines)
    return {name.strip(): value.strip() for name, equals, value in pairs if equals}


def ask(command: list[str]) -> list[str] | None:
    """Return the lines that a command prints, or None if it fails or is not found."""
    try:
        return answer(command, TIMEOUT_S)
    except UserError:
        return None


def _keep(partition: dict[str, Any], key: str, value: int | None) -> None:
    """Store the largest value."""
    if value is not None:
        partition[key] = max(partition.get(key, value), value)


def _number(text: str) -> int | None:
    match = re.match(r"\d+", text)
    return int(match.group()) if match and int(match.group()) > 0 else None


def _gpus(gres: str) -> int:
    """Return 2 for `gpu:v100:2(S:0),license:3`."""
    return sum(int(count) for count in re.findall(r"gpu(?::[^:,(]+)?:(\d+)", gres))


def _plain(name: str) -> str:
    """Return the name with characters that a file name can have."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", name).lstrip("-_") or "cluster"
