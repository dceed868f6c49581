"""Group limits of a QOS or an account that the request of one pending job exceeds: the job never starts.

Slurm keeps such a job pending with the same reason as one that waits for others, e.g. QOSGrpCpuLimit. Sources: the page
"Job Reason Codes" of Slurm's documentation; sacctmgr(1), GrpTRES.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from hpcbench.slurm import reasons, states
from hpcbench.slurm.client import output_or_none, rows_or_none
from hpcbench.slurm.job_entry import Element, JobEntry

_GROUP_LIMIT = re.compile(r"(QOS|Assoc)Grp(C[Pp][Uu]|Mem(?:ory)?|Node|GRES|Billing|License)s?(?:Limit)?")
_FIELD = re.compile(r"(?:^| )(QOS|Account|Partition|ReqTRES|TRES)=(\S*)")
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)\Z")
_MIB = {"K": 1 / 1024, "": 1.0, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}  # of `mem`, which is in MiB
_SACCTMGR = ("sacctmgr", "--noheader", "--parsable2", "show")


def with_never(
    entries: Mapping[Element, JobEntry], config: Mapping[str, str], cluster: str | None
) -> dict[Element, JobEntry]:
    """Return the entries, with `never` set to the exceeded group limit for elements that can never start.

    Elements of an array request the same resources: Slurm is queried once for each array and reason.
    """
    found: dict[tuple[str, str], str] = {}
    changed = dict(entries)
    for (array_id, index), entry in entries.items():
        limit = _GROUP_LIMIT.fullmatch(reasons.code(entry.reason))
        if limit is None or states.phase_of(entry.state) != states.PENDING:
            continue
        key = array_id, entry.reason
        if key not in found:
            found[key] = _exceeded(f"{array_id}_{index}", limit[1] == "QOS", config, cluster)
        if found[key]:
            changed[array_id, index] = replace(entry, never=found[key])
    return changed


def _exceeded(job_id: str, is_qos: bool, config: Mapping[str, str], cluster: str | None) -> str:
    """Return which group limit the request of a job exceeds, as a sentence; an empty text if none is known."""
    line = _shown(["--all", "show", "job", job_id], "JobId=", cluster)
    fields = dict(reversed(_FIELD.findall(line.partition(" Command=")[0])))
    asked = _amounts(fields.get("ReqTRES") or fields.get("TRES", ""))
    limits = _qos_limits(fields, cluster) if is_qos else _account_limits(fields.get("Account", ""), config)
    for owner, allowed in limits:
        for name, amount in _amounts(allowed).items():
            if asked.get(name, 0.0) > amount:
                return f"it requests {name}={asked[name]:g}, but {owner} allows {name}={amount:g} for all jobs together"
    return ""


def _qos_limits(fields: Mapping[str, str], cluster: str | None) -> Iterator[tuple[str, str]]:
    """Yield the group limits of the QOS of a job, and of the QOS of its partition."""
    partition = _shown(["show", "partition", fields.get("Partition", "")], "PartitionName=", cluster)
    names = {fields.get("QOS", ""), *re.findall(r" QoS=(\S+)", partition)} - {"", "N/A"}
    for name, limit in rows_or_none([*_SACCTMGR, "qos", "format=name,grptres"], 2) or []:
        if name in names:
            yield f"QOS {name}", limit


def _shown(words: list[str], begins: str, cluster: str | None) -> str:
    """Return the first line of scontrol that begins like this; an empty text without one. A site may print others."""
    lines = output_or_none(["scontrol", "--oneliner", *words], cluster) or []
    return next((line for line in lines if line.startswith(begins)), "")


def _account_limits(account: str, config: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """Yield the group limits of an account and of its parents."""
    chosen = [f"cluster={config['ClusterName']}", "tree", "format=account,user,parentname,grptres"]
    rows = [row for row in rows_or_none([*_SACCTMGR, "assoc", *chosen], 4) or [] if not row[1].strip()]
    by_name = {name.strip(): (parent.strip(), limit) for name, _, parent, limit in rows}
    while account in by_name:
        parent, limit = by_name.pop(account)  # each account once, even if the parents form a cycle
        yield f"account {account}", limit
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
