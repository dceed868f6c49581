"""Limits on several jobs together that the request of a single pending job exceeds, so that the job never starts.

Slurm keeps such a job pending with the same reason as one that waits for others, e.g. QOSGrpCpuLimit. Sources: the page
"Job Reason Codes" of Slurm's documentation; sacctmgr(1), GrpTRES, MaxTRESPerUser and MaxTRESPerAccount.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from hpcbench.slurm import reasons, states
from hpcbench.slurm.client import output_or_none, rows_or_none
from hpcbench.slurm.job_entry import Element, JobEntry

_LIMIT = re.compile(
    r"(?:(?P<of>QOS|Assoc)Grp|(?:QOS)?Max)(?:C[Pp][Uu]|Mem(?:ory)?|Node|GRES|Billing|License)s?"
    r"(?P<per>PerUser|PerAccount)?(?:Limit)?"
)
_QOS_FIELDS = {None: "grptres", "PerUser": "maxtrespu", "PerAccount": "maxtrespa"}
_JOBS = {None: "all jobs", "PerUser": "all of your jobs", "PerAccount": "all jobs of an account"}
_FIELD = re.compile(r"(?:^| )(QOS|Account|Partition|ReqTRES|TRES)=(\S*)")
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)\Z")
_MIB = {"K": 1 / 1024, "": 1.0, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}  # of `mem`, which is in MiB
_SACCTMGR = ("sacctmgr", "--noheader", "--parsable2", "show")


class _Limit(NamedTuple):
    """The amount of a resource that a QOS or an account allows."""

    owner: str
    name: str
    amount: float


def with_never(
    entries: Mapping[Element, JobEntry], config: Mapping[str, str], cluster: str | None
) -> dict[Element, JobEntry]:
    """Return the entries, with `never` set to the exceeded limit for elements that can never start.

    Elements of an array request the same resources: Slurm is queried once for each array and reason.
    """
    found: dict[tuple[str, str], str] = {}
    changed = dict(entries)
    for (array_id, index), entry in entries.items():
        limit = _LIMIT.fullmatch(reasons.code(entry.reason))
        if limit is None or states.phase_of(entry.state) != states.PENDING:
            continue
        key = array_id, entry.reason
        if key not in found:
            found[key] = _exceeded(f"{array_id}_{index}", limit, config, cluster)
        if found[key]:
            changed[array_id, index] = replace(entry, never=found[key])
    return changed


def _exceeded(job_id: str, limit: re.Match[str], config: Mapping[str, str], cluster: str | None) -> str:
    """Return which limit the request of a job exceeds, as a sentence; an empty text if none is known."""
    line = _shown(["--all", "show", "job", job_id], "JobId=", cluster)
    fields = dict(reversed(_FIELD.findall(line.partition(" Command=")[0])))
    asked = _amounts(fields.get("ReqTRES") or fields.get("TRES", ""))
    if limit["of"] == "Assoc":
        limits = _account_limits(fields.get("Account", ""), config)
    else:
        limits = _qos_limits(fields, _QOS_FIELDS[limit["per"]], cluster)
    jobs = _JOBS[limit["per"]]
    for owner, name, amount in limits:
        if asked.get(name, 0.0) > amount:
            return f"it requests {name}={asked[name]:g}, but {owner} allows {name}={amount:g} for {jobs} together"
    return ""


def _qos_limits(fields: Mapping[str, str], limit: str, cluster: str | None) -> Iterable[_Limit]:
    """Return the limit of each resource: the larger one of the QOS of a job and the QOS of its partition.

    If both have a limit, one of them overrides the other; which one depends on flags of the QOS.
    """
    partition = _shown(["show", "partition", fields.get("Partition", "")], "PartitionName=", cluster)
    names = {fields.get("QOS", ""), *re.findall(r" QoS=(\S+)", partition)} - {"", "N/A"}
    largest: dict[str, _Limit] = {}
    for qos, allowed in rows_or_none([*_SACCTMGR, "qos", f"format=name,{limit}"], 2) or []:
        for name, amount in _amounts(allowed).items():
            if qos in names and (name not in largest or amount > largest[name].amount):
                largest[name] = _Limit(f"QOS {qos}", name, amount)
    return largest.values()


def _shown(words: list[str], begins: str, cluster: str | None) -> str:
    """Return the first line of scontrol that begins like this; an empty text without one. A site may print others."""
    lines = output_or_none(["scontrol", "--oneliner", *words], cluster) or []
    return next((line for line in lines if line.startswith(begins)), "")


def _account_limits(account: str, config: Mapping[str, str]) -> Iterable[_Limit]:
    """Yield the group limits of an account and of its parents."""
    chosen = [f"cluster={config['ClusterName']}", "tree", "format=account,user,parentname,grptres"]
    rows = [row for row in rows_or_none([*_SACCTMGR, "assoc", *chosen], 4) or [] if not row[1].strip()]
    by_name = {name.strip(): (parent.strip(), limit) for name, _, parent, limit in rows}
    while account in by_name:
        parent, limit = by_name.pop(account)  # each account once, even if the parents form a cycle
        for name, amount in _amounts(limit).items():
            yield _Limit(f"account {account}", name, amount)
        account = parent


def _amounts(tres: str) -> dict[str, float]:
    """Return the amounts of `cpu=2,mem=4G,gres/gpu=1`; memory in MiB."""
    found: dict[str, float] = {}
    for word in filter(None, tres.split(",")):
        name, _, value = word.partition("=")
        amount = _AMOUNT.match(value)
        if amount:
            found[name] = float(amount[1]) * (_MIB[amount[2]] if name == "mem" else 1.0)
    return found
