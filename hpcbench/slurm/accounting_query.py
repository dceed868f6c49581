"""Query Slurm's accounting: the limits of this user, and how many jobs count against each.

The counts are those of slurmctld (`scontrol show assoc_mgr`): sbatch uses them, they include jobs that PrivateData
hides, and they are available while slurmdbd is down. sacctmgr adds what slurmctld does not show: the default QOS, the
flags of a QOS, and the limits of a QOS that has not been used since slurmctld started.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from hpcbench.slurm.accounting import Accounting, Association, Counter, Qos
from hpcbench.slurm.cluster_query import ask


class Told(NamedTuple):
    """The accounting, and the number of jobs that count now."""

    accounting: Accounting
    used: dict[Counter, int]


def ask_accounting(cluster: str, user: str) -> Told:
    """Return the accounting of a user on a cluster.

    If a command fails, its limits are missing: sbatch then refuses a job that exceeds them.
    """
    cached = ask(["scontrol", "--oneliner", "show", "assoc_mgr", f"users={user}", "flags=assoc,qos"]) or []
    associations, used = associations_in(cached)
    qos, used_by_qos = qos_in(cached, os.getuid())
    default_qos = {}
    sacctmgr = ["sacctmgr", "--noheader", "--parsable2", "show"]
    of_user = [*sacctmgr, "assoc", f"cluster={cluster}", f"user={user}", "format=account,partition,defaultqos,qos"]
    told = ask(of_user)
    if told is not None:
        default_qos = default_qos_in(told)
        limits = "format=name,flags,grpsubmitjobs,maxsubmitjobsperuser,maxsubmitjobsperaccount"
        qos |= full_qos_in(ask([*sacctmgr, "qos", limits]) or [])
    partitions = ask(["scontrol", "--all", "--oneliner", "show", "partition"]) or []
    accounting = Accounting(tuple(associations), qos, default_qos, *partitions_in(partitions))
    return Told(accounting, used | used_by_qos)


def associations_in(lines: list[str]) -> tuple[list[Association], dict[Counter, int]]:
    """Return the associations in the output of scontrol, and the jobs of each.

    scontrol prints a limit and its use as `30(11)`, and `N(11)` or nothing without a limit.
    """
    found, used = [], {}
    for fields in (_fields(line) for line in lines if line.startswith("ClusterName=")):
        group, count = _limit(fields["GrpSubmitJobs"])
        association = Association(
            account=fields["Account"],
            user=_bare(fields["UserName"]),
            partition=fields["Partition"],
            parent=_bare(fields["ParentAccount"]),
            default=fields["DefAssoc"] == "Yes",
            max_submit=_limit(fields["MaxSubmitJobs"])[0],
            group_submit=group,
        )
        found.append(association)
        used[association.counter] = count
    return found, used


def qos_in(lines: list[str], uid: int) -> tuple[dict[str, Qos], dict[Counter, int]]:
    """Return the QOS in the output of scontrol, and the jobs of each.

    Limits per user and per account are printed only next to users and accounts that have used the QOS.
    """
    found: dict[str, Qos] = {}
    used: dict[Counter, int] = {}
    for line in lines:
        if not line.startswith("QOS="):
            continue
        fields = _fields(line)
        group, count = _limit(fields["GrpSubmitJobs"])
        users, accounts = _each(line, "MaxSubmitJobsPU"), _each(line, "MaxSubmitJobsPA")
        qos = Qos(_bare(fields["QOS"]), group, _shared(users), _shared(accounts))
        found[qos.name] = qos
        used[qos.counter] = count
        mine = [number for name, (_, number) in users.items() if name == str(uid) or name.endswith(f"({uid})")]
        used[qos.user_counter] = sum(mine)
        used.update({qos.account_counter(name): number for name, (_, number) in accounts.items()})
    return found, used


def full_qos_in(lines: list[str]) -> dict[str, Qos]:
    """Return the QOS in the output of sacctmgr, with the columns name, flags and the three limits."""
    rows = [line.split("|") for line in lines]
    return {
        name: Qos(name, _number(group), _number(user), _number(account), "OverPartQOS" in flags.split(","))
        for name, flags, group, user, account in rows
    }


def default_qos_in(lines: list[str]) -> dict[tuple[str, str], str]:
    """Return the default QOS by account and partition from the output of sacctmgr, or the only QOS if there is one."""
    rows = [line.split("|") for line in lines]
    return {
        (account, partition): default or only
        for account, partition, default, only in rows
        if default or (only and "," not in only)
    }


def partitions_in(lines: list[str]) -> tuple[dict[str, str], str]:
    """Return the QOS of each partition that has one, and the default partition, from the output of scontrol."""
    partitions = [_fields(line) for line in lines if line.startswith("PartitionName=")]
    qos = {fields["PartitionName"]: fields["QoS"].lower() for fields in partitions if fields["QoS"] != "N/A"}
    return qos, next((fields["PartitionName"] for fields in partitions if fields["Default"] == "YES"), "")


def _fields(line: str) -> dict[str, str]:
    """Return the NAME=VALUE pairs of a line.

    The first of a name counts: a comment comes last and may contain any text.
    """
    return dict(reversed(re.findall(r"(\S+?)=(\S*)", line)))


def _bare(name: str) -> str:
    """Return `alice` for `alice(1000)`."""
    return name.partition("(")[0]


def _limit(text: str) -> tuple[int | None, int]:
    """Return 30 and 11 for `30(11)`."""
    most, _, used = text.rstrip(")").partition("(")
    return _number(most), int(used or 0)


def _each(line: str, name: str) -> dict[str, tuple[int | None, int]]:
    """Return limit and use by user or account, from `NAME={... MaxSubmitJobsPU=5(3) ...}`."""
    return {who: _limit(text) for who, text in re.findall(rf"(\S+?)={{[^}}]*?{name}=(\S+)", line)}


def _shared(by_name: dict[str, tuple[int | None, int]]) -> int | None:
    """Return the limit of the QOS: it is the same for every name."""
    return next((most for most, _ in by_name.values()), None)


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None
