"""How many more array tasks may be submitted now, and which limit says so. Every array task is a job to Slurm."""

from __future__ import annotations

import getpass
import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from hpcbench.config.site import Site
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.slurm import cluster_query, states
from hpcbench.slurm.accounting import Accounting, Cap, Counter
from hpcbench.slurm.accounting_query import ask_accounting
from hpcbench.slurm.client import answer

_CLUSTER: Counter = ("cluster",)  # all jobs that slurmctld remembers, ended ones for MinJobAge
_USER: Counter = ("user",)

# What sbatch says where a job is in order and there is no room for it. The first are reasons that it names beside
# "Job violates accounting/QOS policy", which alone may as well be a time or a size that no wait will mend; the others
# stand for MaxJobCount: sbatch tries 15 times in two minutes, then says EAGAIN or, from 26.05 on, what it is.
_FULL = (
    "AssocGrpSubmitJobsLimit",
    "AssocMaxSubmitJobLimit",
    "MaxSubmitJobsPerAccount",
    "QOSGrpSubmitJobsLimit",
    "QOSMaxSubmitJobPerUserLimit",
    "Batch job submission failed: Resource temporarily unavailable",
    "MaxJobCount limit reached",
    "Slurm job queue full",
    "Slurm temporarily unable to accept job",
)


class Room(NamedTuple):
    """So many tasks more, None for any number, by this limit."""

    tasks: int | None
    limit: str


@dataclass(frozen=True)
class Limits:
    """The limits that hold for this user's jobs, and what is in the queue."""

    everywhere: tuple[Cap, ...] = ()  # whatever account, QOS and partition
    accounting: Accounting = field(default_factory=Accounting)
    used: Mapping[Counter, int] = field(default_factory=dict)

    @classmethod
    def read(cls, site: Site) -> Limits:
        """Ask Slurm, once for a command. Raises UserError where squeue gives no answer: then sbatch will not, either.

        Limits of accounts and QOS count only where Slurm enforces them (AccountingStorageEnforce, slurm.conf(5)):
        elsewhere they are notes that no sbatch is refused for.
        """
        config = cluster_query.config()
        uid = os.getuid()
        used = jobs_in(answer(["squeue", "--noheader", "--array", "--states=all", "--format=%U|%T"]), uid)
        everywhere = tuple(_caps(config, site))
        if not {"limits", "safe", "all"} & set(config.get("AccountingStorageEnforce", "").split(",")):
            return cls(everywhere, used=used)
        told = ask_accounting(config.get("ClusterName", ""), _name_of(uid))
        # PrivateData may hide from squeue what slurmctld counts: there are no fewer jobs than any of its counts.
        cluster = max(used[_CLUSTER], *told.used.values(), 0)
        return cls(everywhere, told.accounting, {**used, **told.used, _CLUSTER: cluster})

    def room(self, options: SlurmOptions) -> Room:
        """How many tasks of a job with these options fit now; the first of the tightest limits is named."""
        caps = self._caps(options)
        if not caps:
            return Room(None, "")
        tightest = min(caps, key=lambda cap: cap.most - self.used.get(cap.counter, 0))
        used = self.used.get(tightest.counter, 0)
        return Room(max(0, tightest.most - used), f"{tightest.words}: {used} of {tightest.most} jobs")

    def most(self, options: SlurmOptions) -> int | None:
        """How many such tasks fit into an empty queue; None for any number."""
        return min((cap.most for cap in self._caps(options)), default=None)

    def _caps(self, options: SlurmOptions) -> list[Cap]:
        return [*self.everywhere, *(cap for each in self.accounting.standings(options) for cap in each.caps())]

    def submitted(self, options: SlurmOptions, tasks: int) -> Limits:
        """The same after so many tasks more with these options."""
        counters = {_CLUSTER, _USER}.union(*(each.counters() for each in self.accounting.standings(options)))
        return replace(self, used={**self.used, **{each: self.used.get(each, 0) + tasks for each in counters}})


def is_full(words: str) -> bool:
    """Whether sbatch refused a job only because there are too many: it may be submitted later as it is."""
    return any(reason in words for reason in _FULL)


def jobs_in(lines: list[str], uid: int) -> dict[Counter, int]:
    """Jobs of all users, with those that ended and are still remembered, and this user's in the queue."""
    mine = [line for line in lines if line.startswith(f"{uid}|") and states.outcome_of(line.partition("|")[2]) is None]
    return {_CLUSTER: len(lines), _USER: len(mine)}


def _caps(config: Mapping[str, str], site: Site) -> list[Cap]:
    caps = []
    if site.limits.max_submit_jobs is not None:
        caps.append(Cap(_USER, site.limits.max_submit_jobs, "limits.max_submit_jobs of the site file"))
    if config.get("MaxJobCount", "").isdigit():
        # Slurm before 25.05 refuses the job that would make the count equal to it.
        caps.append(Cap(_CLUSTER, int(config["MaxJobCount"]) - 1, "MaxJobCount of the cluster"))
    return caps


def _name_of(uid: int) -> str:
    """As Slurm knows the user; USER and LOGNAME may be anybody's after su."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return getpass.getuser()
