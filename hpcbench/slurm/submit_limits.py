"""Limits on the number of submitted jobs: the remaining capacity, and the messages by which sbatch refuses a job.

Each array task is a job for Slurm. Only slurmctld can evaluate limits of associations and QOS: hpcbench submits jobs,
and parses the refusal.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from hpcbench.config.site import Site
from hpcbench.slurm import states
from hpcbench.slurm.client import output_of
from hpcbench.slurm.cluster_config import query_config

# What sbatch prints if a job is valid and there are too many jobs, since Slurm 20.11. The names of reasons precede "Job
# violates accounting/QOS policy", which alone may also mean a time or a size that is never allowed.
_REASONS = (
    "AssocGrpSubmitJobsLimit",
    "AssocMaxSubmitJobLimit",
    "MaxSubmitJobsPerAccount",
    "QOSGrpSubmitJobsLimit",
    "QOSMaxSubmitJobPerUserLimit",
)
# MaxJobCount: sbatch tries 15 times in two minutes, then prints the message of EAGAIN or, since Slurm 26.05, the limit.
_CLUSTER_FULL = (
    "Batch job submission failed: Resource temporarily unavailable",
    "MaxJobCount limit reached",
    "Slurm job queue full",
    "Slurm temporarily unable to accept job",
)


PER_USER = ("AssocMaxSubmitJobLimit", "QOSMaxSubmitJobPerUserLimit", "limits.max_submit_jobs")


class Capacity(NamedTuple):
    """The number of jobs that can still be submitted (None without a limit), and the limit."""

    jobs: int | None
    limit: str

    def at_most(self, jobs: int) -> int:
        """Return `jobs`, or the capacity if that is smaller."""
        return jobs if self.jobs is None else min(jobs, self.jobs)

    def less(self, jobs: int) -> Capacity:
        """Return the capacity after `jobs` more jobs are submitted."""
        return self if self.jobs is None else self._replace(jobs=max(0, self.jobs - jobs))


def read_capacity(site: Site) -> Capacity:
    """Return how many more jobs `limits.max_submit_jobs` of the site file and MaxJobCount of the cluster allow.

    Jobs of other users that PrivateData hides are not counted: sbatch refuses a job that exceeds MaxJobCount because of
    them. Raise UserError if squeue fails: then sbatch would fail, too.
    """
    rows = _rows(site.cluster, "--states=all")
    capacities = []
    if site.limits.max_submit_jobs is not None:
        used = sum(uid == str(os.getuid()) and states.outcome_of(state) is None for uid, state, _ in rows)
        capacities.append(_capacity("limits.max_submit_jobs of the site file", used, site.limits.max_submit_jobs))
    max_job_count = query_config(site.cluster).get("MaxJobCount", "")
    if max_job_count.isdigit():
        # slurmctld counts ended jobs, too, for MinJobAge seconds. Slurm before 25.05 refuses the job that would make
        # the count equal to MaxJobCount.
        capacities.append(_capacity("MaxJobCount of the cluster", len(rows), int(max_job_count) - 1))
    return min(capacities, key=lambda each: each.jobs or 0, default=Capacity(None, ""))


def jobs_of_user(cluster: str | None) -> set[str]:
    """Return the IDs of this user's pending and running jobs, one per array. Raise UserError if squeue fails."""
    return {job for uid, _, job in _rows(cluster, "--states=PENDING,RUNNING") if uid == str(os.getuid())}


def _rows(cluster: str | None, chosen: str) -> list[list[str]]:
    """Return the UID, state and ID of each job in the queue, also in hidden partitions."""
    lines = output_of(["squeue", "--noheader", "--all", "--array", chosen, "--format=%U|%T|%F"], cluster)
    rows = [line.split("|") for line in lines]
    return [row for row in rows if len(row) == 3 and row[0].isdecimal()]  # a site may print a greeting


def exceeded_limit(message: str) -> str:
    """Return the limit on submitted jobs for which sbatch refused a job, in words.

    Return an empty text if sbatch refused the job for another reason. Otherwise, the same job can be submitted later.
    """
    for reason in _REASONS:
        if reason in message:
            return states.in_words(reason)
    if any(text in message for text in _CLUSTER_FULL):
        return "the cluster's job limit is reached (MaxJobCount)"
    return ""


def _capacity(limit: str, used: int, allowed: int) -> Capacity:
    return Capacity(max(0, allowed - used), f"{limit}: {used} of {allowed} jobs")
