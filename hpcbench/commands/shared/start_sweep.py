"""Create a sweep, and submit or run its jobs: for sweep and gate."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

from hpcbench.commands.shared.context import resumable
from hpcbench.commands.shared.live_output import live_output
from hpcbench.commands.shared.run_locally import run_here
from hpcbench.commands.shared.watch import wait_for
from hpcbench.config.yaml_document import Document
from hpcbench.plan.case import where_written
from hpcbench.plan.plan import Plan
from hpcbench.report.text.counts import jobs_in_words
from hpcbench.status.query import query
from hpcbench.store.journal import Journal, locked
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from hpcbench.util.console import err
from hpcbench.util.exit_status import SUCCESS
from hpcbench.util.text import plural


def check_schedules(plan: Plan, workspace: Workspace, document: Document) -> None:
    """Raise UserError for a missing schedule with a relative path; an absolute path may exist only on the nodes."""
    named = dict.fromkeys(case.parameters.schedule for case in plan.cases)
    for file in filter(None, named):
        if not Path(file).is_absolute() and not (workspace.root / file).is_file():
            what = f"{file} not found in the workspace, {workspace.root}"
            raise document.error(
                what, where_written("schedule", document), "hpcbench tune writes one if it finds a gain"
            )


def print_size(created: Sweep, plan: Plan) -> None:
    """Print the numbers of cases, runs and jobs of a new sweep, and where it runs."""
    runs = sum(len(job.runs) for job in plan.jobs)
    counts = plural(len(plan.cases), "case"), plural(runs, "run"), jobs_in_words(plan)
    err.print(f"{created.paths.name}: {', '.join(counts)}, on {_where(created)}", soft_wrap=True, markup=False)


def _where(sweep: Sweep) -> str:
    site = sweep.description["site"]["name"]
    if sweep.scheduler != "slurm":
        return f"this machine (site {site})"
    cluster = sweep.description["cluster"]
    return f"Slurm cluster {cluster} (site {site})" if cluster and cluster != site else f"Slurm (site {site})"


def start(created: Sweep, plan: Plan, workspace: Workspace, *, wait: bool, live: bool = False) -> int:
    """Run a new sweep on this machine, or submit its jobs and `wait` for them; return the exit status.

    With `live`, print the output of the first run on a terminal.
    """
    from hpcbench.commands.shared.submit import submit_with_progress
    from hpcbench.submit.slurm_executor import Array

    paths = created.paths
    shown = live_output(paths) if live and err.is_terminal else nullcontext()
    with locked(paths.jobs) as lease, resumable(paths.name):
        if created.scheduler != "slurm":
            with shown:
                return run_here(created, list(query(created).runs), lease)
        whole = [Array(job.name, tuple(job.packed_elements)) for job in plan.jobs]
        submit_with_progress(created, workspace, whole, Journal(paths), lease)
    if not wait:
        return SUCCESS
    with shown:
        return wait_for(created)
