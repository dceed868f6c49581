"""hpcbench resume: run again what is missing or failed, and nothing else."""

from __future__ import annotations

import click

from hpcbench.collect.progress import RunProgress, survey
from hpcbench.commands.common import err, sweep_argument, workspace_of
from hpcbench.submit.journal import Journal, locked
from hpcbench.submit.sweep import load

EPILOG = """\b
Examples:
  hpcbench resume latest
  hpcbench resume lstm-threads-20260311-101500 --wait

Exit status: 0 all is well; 1 a local or awaited case did not complete; 2 a mistake; 130 interrupted.
"""


@click.command(epilog=EPILOG, short_help="Run again what is missing or failed, and nothing else.")
@sweep_argument()
@click.option("--wait", is_flag=True, help="Return when every job has ended.")
@click.pass_context
def resume(context: click.Context, sweep: str, wait: bool) -> int:
    """Run what SWEEP still lacks: repetitions never submitted, failed, timed out, cancelled or lost.

    What has completed, waits in the queue, runs, or cannot run here, is left alone.
    """
    found = load(workspace_of(context).find(sweep))
    paths = found.paths
    with locked(paths.jobs):
        journal = Journal.read(paths.journal)
        if found.scheduler == "slurm":
            from hpcbench.submit.slurm import adopt_orphans

            adopt_orphans(paths, journal)
        missing = survey(found).to_do()
        err.print(f"{paths.name}: {len(missing)} repetitions to run")
        if found.scheduler == "local":
            from hpcbench.commands.local_run import run_here

            return run_here(found, missing)
        if missing:
            from hpcbench.commands.submitting import submit_with_progress

            submit_with_progress(paths, list(_by_job(missing).items()), journal)
    if wait:
        from hpcbench.commands.waiting import wait_for

        return wait_for(found)
    return 0


def _by_job(runs: list[RunProgress]) -> dict[str, tuple[int, ...]]:
    jobs: dict[str, tuple[int, ...]] = {}
    for run in runs:
        jobs[run.job] = (*jobs.get(run.job, ()), run.element)
    return jobs
