"""hpcbench resume: run again what is missing or failed, and nothing else."""

from __future__ import annotations

import click

from hpcbench.collect.progress import RunProgress, survey
from hpcbench.commands.common import err, plural, resumable, sweep_argument, workspace_of
from hpcbench.commands.local_run import run_here
from hpcbench.commands.waiting import wait_for
from hpcbench.config.site import Site
from hpcbench.environments.resolve import check_still_there
from hpcbench.node import outcomes
from hpcbench.submit.journal import Journal, locked
from hpcbench.submit.sweep import Sweep, load
from hpcbench.workspace import Workspace

EPILOG = """\b
Examples:
  hpcbench resume latest
  hpcbench resume lstm-threads-20260311-101500 --wait
  hpcbench resume latest --disturbed      and what others disturbed

Exit status: 0 all is well; 1 a local or awaited case did not complete; 2 a mistake; 130 interrupted.
"""


@click.command(epilog=EPILOG, short_help="Run again what is missing or failed, and nothing else.")
@sweep_argument()
@click.option("--disturbed", is_flag=True, help="Measure again, too, what others disturbed in every attempt.")
@click.option("--wait", is_flag=True, help="Return when every job has ended.")
@click.pass_context
def resume(context: click.Context, sweep: str, disturbed: bool, wait: bool) -> int:
    """Run what SWEEP still lacks: repetitions never submitted, failed, timed out, cancelled or lost.

    What has completed, waits in the queue, runs, or cannot run here, is left alone.
    """
    workspace = workspace_of(context)
    found = load(workspace.find(sweep))
    paths = found.paths
    with resumable(paths.name), locked(paths.jobs):
        if found.scheduler == "local":
            return run_here(found, _missing(found, workspace, disturbed))
        _submit_missing(found, workspace, disturbed, Journal.read(paths.journal))
    return wait_for(found) if wait else 0


def _submit_missing(sweep: Sweep, workspace: Workspace, disturbed: bool, journal: Journal) -> None:
    from hpcbench.commands.submitting import submit_with_progress
    from hpcbench.submit.slurm import adopt_orphans

    adopt_orphans(sweep.paths, journal)
    missing = _missing(sweep, workspace, disturbed)
    if missing:
        submit_with_progress(sweep, list(_by_job(missing).items()), journal)


def _missing(sweep: Sweep, workspace: Workspace, disturbed: bool) -> list[RunProgress]:
    """What is to run. Raises UserError where its environment is gone."""
    progress = survey(sweep)
    missing = progress.to_do(disturbed=disturbed)
    err.print(f"{sweep.paths.name}: {plural(len(missing), 'repetition')} to run")
    refused = sum(run.state == outcomes.UNSUPPORTED for run in progress.runs)
    if refused:
        told = f"{plural(refused, 'repetition')} could not run here; if that has changed, start a new sweep"
        err.print(told, soft_wrap=True)
    site = Site.model_validate(sweep.description["site"])
    for name, python in sorted({sweep.environment(run.job) for run in missing}):
        check_still_there(site, name, python, workspace)
    return missing


def _by_job(runs: list[RunProgress]) -> dict[str, tuple[int, ...]]:
    jobs: dict[str, tuple[int, ...]] = {}
    for run in runs:
        jobs[run.job] = (*jobs.get(run.job, ()), run.element)
    return jobs
