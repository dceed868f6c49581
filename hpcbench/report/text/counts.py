"""Counts and values as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpcbench.util.text import plural

if TYPE_CHECKING:
    from hpcbench.plan.plan import Plan


def jobs_in_words(plan: Plan) -> str:
    """Return `2 jobs`; on Slurm `1,000 jobs in 2 arrays`."""
    if plan.site.scheduler != "slurm":
        return plural(len(plan.jobs), "job")
    return f"{plural(sum(len(job.packs) for job in plan.jobs), 'job')} in {plural(len(plan.jobs), 'array')}"


def or_unset(value: object) -> str:
    """Return a value as text, `unset` for None."""
    return "unset" if value is None else str(value)
