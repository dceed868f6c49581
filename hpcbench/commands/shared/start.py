"""Start a new sweep: for the commands that create one."""

from __future__ import annotations

from contextlib import nullcontext

from hpcbench.commands.shared.context import resumable
from hpcbench.commands.shared.live_output import live_output
from hpcbench.commands.shared.run_locally import run_here
from hpcbench.commands.shared.watch import wait_for
from hpcbench.plan.plan import Plan
from hpcbench.report.text.counts import jobs_in_words
from hpcbench.status.query import query
from hpcbench.store.journal import Journal, locked
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from hpcbench.util.console import err, out
from hpcbench.util.text import plural


def start(
    created: Sweep, plan: Plan, workspace: Workspace, *, render_only: bool = False, wait: bool, live: bool = False
) -> int:
    """Run a new sweep on this machine, or submit its jobs; with `render_only`, print the paths of its scripts.

    With `live`, print the output of the first run on a terminal. Return 0 if all runs completed with all metrics, or if
    the jobs were submitted without `wait`; otherwise 1.
    """
    from hpcbench.commands.shared.submit import submit_with_progress
    from hpcbench.submit.slurm_executor import Array

    paths = created.paths
    runs = sum(len(job.runs) for job in plan.jobs)
    counts = plural(len(plan.cases), "case"), plural(runs, "run"), jobs_in_words(plan)
    err.print(f"{paths.name}: {', '.join(counts)}, on {_where(created)}", soft_wrap=True, markup=False)
    if render_only:
        for job in plan.jobs:
            out.print(str(paths.script(job.name)), soft_wrap=True)
        return 0
    shown = live_output(paths) if live and err.is_terminal else nullcontext()
    with locked(paths.jobs) as lease, resumable(paths.name):
        if created.scheduler != "slurm":
            with shown:
                return run_here(created, list(query(created).runs), lease)
        whole = [Array(job.name, tuple(job.packed_elements)) for job in plan.jobs]
        submit_with_progress(created, workspace, whole, Journal(paths), lease)
    if not wait:
        return 0
    with shown:
        return wait_for(created)


def _where(sweep: Sweep) -> str:
    site = sweep.description["site"]["name"]
    if sweep.scheduler != "slurm":
        return f"this machine (site {site})"
    cluster = sweep.description["cluster"]
    return f"Slurm cluster {cluster} (site {site})" if cluster and cluster != site else f"Slurm (site {site})"
