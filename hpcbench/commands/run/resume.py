"""hpcbench resume: run again only what is missing or failed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from hpcbench.commands.shared.context import resumable, sweep_argument, workspace_of
from hpcbench.commands.shared.run_locally import run_here
from hpcbench.commands.shared.watch import wait_for
from hpcbench.config.slurm_options import time_text
from hpcbench.core import status
from hpcbench.environments.resolve import check_still_there
from hpcbench.errors import UserError
from hpcbench.plan.packing import MAX_PACKS, cut, estimated_s, repack
from hpcbench.status.durations import longest_s
from hpcbench.status.progress import Progress, RunProgress
from hpcbench.status.reconcile import reconcile
from hpcbench.store.journal import Journal, locked
from hpcbench.store.sweep import Sweep, load
from hpcbench.store.workspace import Workspace
from hpcbench.submit import inherited_variables
from hpcbench.submit.inherited_variables import Submission
from hpcbench.util.console import err
from hpcbench.util.locking.lease import Lease
from hpcbench.util.text import plural

if TYPE_CHECKING:
    from hpcbench.submit.slurm_executor import Array

EPILOG = """\b
Examples:
  hpcbench resume latest
  hpcbench resume lstm-threads-20260311-101500 --wait
  hpcbench resume latest --disturbed      also runs with interference

Exit status: 0 success; 1 a case did not complete (local, or with --wait); 2 usage error; 130 interrupted.
"""


@click.command("resume", epilog=EPILOG)
@sweep_argument()
@click.option("--disturbed", is_flag=True, help="Also rerun what had interference in all attempts.")
@click.option(
    "--missing", is_flag=True, help="Run only what has no outcome, or an outcome that the experiment retries."
)
@click.option("--wait", is_flag=True, help="Wait until all jobs have ended.")
@click.option("--json", "as_json", is_flag=True, help="Print the result of a search as JSON.")
@click.option("--here", is_flag=True, hidden=True)  # of the job that searches
@click.pass_context
def resume_command(
    context: click.Context, sweep: str, disturbed: bool, missing: bool, wait: bool, as_json: bool, here: bool
) -> int:
    """Run the repetitions of SWEEP that were not submitted, failed, timed out, were cancelled or were lost.

    Repetitions that completed, that are in the queue or running, or that cannot run here, do not run again. If SWEEP is
    an interrupted search, continue it; if the search has ended, print its result.
    """
    if disturbed and missing:
        raise UserError("--missing cannot be used with --disturbed", hint="use one of them")
    workspace = workspace_of(context)
    found = load(workspace.find(sweep))
    found.check_writable()
    paths = found.paths
    if found.tuning:
        from hpcbench.commands.shared.tuning import resume_search

        if disturbed or missing:
            what, hint = (
                "these options cannot be used with a search",
                "set measure.quiet, then start a new search: hpcbench tune",
            )
            raise UserError(what, where="--disturbed, --missing", hint=hint)
        return resume_search(found, workspace, here=here, wait=wait, in_json=as_json)
    if as_json:
        hint = f"for the state of this sweep: hpcbench status {paths.name} --json"
        raise UserError("--json requires a search, and this sweep is not one", hint=hint)
    with locked(paths.jobs) as lease, resumable(paths.name):
        if found.scheduler == "local":
            return run_here(found, _to_run(reconcile(found), workspace, disturbed, missing), lease)
        _submit(found, workspace, disturbed, missing, lease)
    return wait_for(found) if wait else 0


def _submit(sweep: Sweep, workspace: Workspace, disturbed: bool, missing: bool, lease: Lease) -> None:
    from hpcbench.commands.shared.submit import submit_with_progress
    from hpcbench.submit.slurm_executor import adopt_orphans, check_available

    check_available()
    journal = Journal.read(sweep.paths)
    adopt_orphans(journal)
    progress = reconcile(sweep)
    runs = _to_run(progress, workspace, disturbed, missing)
    if runs:
        submit_with_progress(sweep, workspace, _arrays(progress, runs), journal, lease)


def _to_run(progress: Progress, workspace: Workspace, disturbed: bool, missing: bool) -> list[RunProgress]:
    """Return the runs to start. Raises UserError if one of their environments is missing."""
    sweep = progress.sweep
    for warning in progress.warnings:
        err.print(f"warning: {warning}", soft_wrap=True, markup=False)
    runs = progress.missing() if missing else progress.to_do(disturbed=disturbed)
    err.print(f"{sweep.paths.name}: {plural(len(runs), 'repetition')} to run")
    refused = sum(run.state == status.UNSUPPORTED for run in progress.runs)
    if refused:
        message = f"{plural(refused, 'repetition')} cannot run here; if that has changed, start a new sweep"
        err.print(message, soft_wrap=True)
    too_large = len(progress.still_too_large)
    if too_large:
        err.print(f"skipped: {plural(too_large, 'repetition')} larger than one that ran out of memory", soft_wrap=True)
    site = sweep.site
    for name, python in sorted({sweep.environment(run.job) for run in runs}):
        check_still_there(site, name, python, workspace)
    slurm = {job: sweep.slurm(job) for job in {run.job for run in runs}}
    submissions = (
        Submission(run.planned.parameters, site.environment(sweep.environment(run.job)[0]), slurm[run.job])
        for run in runs
    )
    inherited = inherited_variables.warning(submissions, os.environ)
    if inherited:
        err.print(f"warning: {inherited}", soft_wrap=True, markup=False)
    return runs


def _arrays(progress: Progress, runs: list[RunProgress]) -> list[Array]:
    """Return the runs as arrays, one per job, packed by their earlier durations."""
    from hpcbench.submit.slurm_executor import Array

    sweep, measured_s = progress.sweep, longest_s(progress)
    most = min(MAX_PACKS, int(sweep.description["site"]["limits"]["max_array_size"]))
    arrays = []
    for job in dict.fromkeys(run.job for run in runs):
        slurm, limit_s = sweep.slurm(job), sweep.limit_s(job)
        cases = [(run.element, measured_s.get(run.planned.case_id)) for run in runs if run.job == job]
        expected = [(element, estimated_s(seconds, limit_s)) for element, seconds in cases]
        packs, time_s = repack(expected, slurm, sweep.width(job))
        time = time_text(time_s) if slurm.pack_walltime else None
        arrays += [Array(job, part, time) for part in cut(packs, most)]
    return arrays
