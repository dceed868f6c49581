"""How many array tasks can be submitted now, and which limit applies. Each array task is a job for Slurm."""

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

_CLUSTER: Counter = ("cluster",)  # all jobs that slurmctld keeps: ended ones for MinJobAge seconds
_USER: Counter = ("user",)

# Messages of sbatch if a job is valid and there are too many jobs. The first ones follow "Job violates accounting/QOS
# policy", which alone may also mean a time or a size that is never allowed. The others mean MaxJobCount: sbatch tries
# 15 times in two minutes, then prints the message of EAGAIN or, since Slurm 26.05, the limit.
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
    """How many more tasks can be submitted (None without a limit), and the limit that applies."""

    tasks: int | None
    limit: str


@dataclass(frozen=True)
class Limits:
    """The limits for this user's jobs, and the number of jobs in the queue."""

    everywhere: tuple[Cap, ...] = ()  # for every account, QOS and partition
    accounting: Accounting = field(default_factory=Accounting)
    used: Mapping[Counter, int] = field(default_factory=dict)

    @classmethod
    def read(cls, site: Site) -> Limits:
        """Return the limits of the cluster and of the site.

        Limits of accounts and QOS count only if Slurm enforces them (AccountingStorageEnforce, slurm.conf(5)):
        otherwise sbatch does not refuse a job for them. Raise UserError if squeue fails: then sbatch would fail, too.
        """
        config = cluster_query.config()
        uid = os.getuid()
        used = jobs_in(answer(["squeue", "--noheader", "--array", "--states=all", "--format=%U|%T"]), uid)
        everywhere = tuple(_caps(config, site))
        if not {"limits", "safe", "all"} & set(config.get("AccountingStorageEnforce", "").split(",")):
            return cls(everywhere, used=used)
        told = ask_accounting(config.get("ClusterName", ""), _name_of(uid))
        # PrivateData may hide jobs from squeue: the cluster has at least as many jobs as slurmctld counts.
        cluster = max(used[_CLUSTER], *told.used.values(), 0)
        return cls(everywhere, told.accounting, {**used, **told.used, _CLUSTER: cluster})

    def room(self, options: SlurmOptions) -> Room:
        """Return how many tasks with these options can be submitted now. The tightest limit is named."""
        caps = self._caps(options)
        if not caps:
            return Room(None, "")
        tightest = min(caps, key=lambda cap: cap.most - self.used.get(cap.counter, 0))
        used = self.used.get(tightest.counter, 0)
        return Room(max(0, tightest.most - used), f"{tightest.words}: {used} of {tightest.most} jobs")

    def most(self, options: SlurmOptions) -> int | None:
        """Return how many tasks with these options fit in an empty queue, or None without a limit."""
        return min((cap.most for cap in self._caps(options)), default=None)

    def _caps(self, options: SlurmOptions) -> list[Cap]:
        return [*self.everywhere, *(cap for each in self.accounting.standings(options) for cap in each.caps())]

    def submitted(self, options: SlurmOptions, tasks: int) -> Limits:
        """Return the limits after `tasks` more tasks with these options are submitted."""
        counters = {_CLUSTER, _USER}.union(*(each.counters() for each in self.accounting.standings(options)))
        return replace(self, used={**self.used, **{each: self.used.get(each, 0) + tasks for each in counters}})


def is_full(words: str) -> bool:
    """Return whether sbatch refused a job only because there are too many jobs. The same job can be submitted later."""
    return any(reason in words for reason in _FULL)


def jobs_in(lines: list[str], uid: int) -> dict[Counter, int]:
    """Return the number of jobs of all users, and of the jobs of this user that are in the queue.

    The former includes jobs that have ended and that slurmctld still keeps.
    """
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
    """Return the user name as Slurm knows it. After su, USER and LOGNAME may name another user."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return getpass.getuser()
