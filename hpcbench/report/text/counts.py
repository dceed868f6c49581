"""Counts and values as text, and the line on omitted rows of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hpcbench.util.text import plural

if TYPE_CHECKING:
    from rich.console import Console

    from hpcbench.plan.plan import Plan


def jobs_in_words(plan: Plan) -> str:
    """Return the number of jobs of a plan: `2 jobs`; on Slurm `1,000 jobs in 2 arrays`."""
    if plan.site.scheduler != "slurm":
        return plural(len(plan.jobs), "job")
    return f"{plural(sum(len(job.packs) for job in plan.jobs), 'job')} in {plural(len(plan.jobs), 'array')}"


def or_unset(value: object) -> str:
    """Return a value as text; `unset` for None."""
    return "unset" if value is None else str(value)


def print_omitted(count: int, console: Console, file: str, what: str = "") -> None:
    """Print the number of omitted rows, if any; `what` names a row, `file` is the option that writes all rows."""
    if count > 0:
        more = plural(count, f"more {what}") if what else f"{count:,} more"
        console.print(f"... and {more}: show all with --top, or in the file of {file}")
