"""hpcbench resume: run the missing and failed runs of a sweep."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import click

from hpcbench.commands.options.failure_options import failure_limit_of, failure_options
from hpcbench.commands.options.outputs import json_option
from hpcbench.commands.shared.context import (
    load_sweep,
    not_done_without_slurm,
    resumable,
    sweep_argument,
    workspace_of,
)
from hpcbench.commands.shared.print_state import print_next, print_state
from hpcbench.commands.shared.run_locally import run_here
from hpcbench.commands.shared.watch import wait_for
from hpcbench.config.slurm_options import time_text
from hpcbench.core.start_rules import failure_limit
from hpcbench.core.start_rules.failure_limit import FailureLimit
from hpcbench.core.status import UNSUPPORTED
from hpcbench.environments.resolve import check_still_there
from hpcbench.errors import UserError
from hpcbench.plan.packing import MAX_PACKS, cut, estimated_s, repack
from hpcbench.report.terminal.status_summary import not_starting
from hpcbench.slurm.reasons import hint
from hpcbench.status.durations import longest_s
from hpcbench.status.progress import UNKNOWN, Progress, RunProgress
from hpcbench.status.reconcile import reconcile
from hpcbench.store.journal import Journal, locked
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from hpcbench.submit import inherited_variables
from hpcbench.submit.inherited_variables import Submission
from hpcbench.util.console import err, print_warning
from hpcbench.util.exit_status import SUCCESS, exit_statuses
from hpcbench.util.locking.lease import Lease
from hpcbench.util.text import plural

if TYPE_CHECKING:
    from hpcbench.submit.slurm_executor import Array

EPILOG = """\b
Examples:
  hpcbench resume latest
  hpcbench resume lstm-threads-20260311-101500 --wait
  hpcbench resume latest --interference      also rerun runs with interference
""" + exit_statuses("a case did not complete, or lacks a metric (local, or with --wait)")


@click.command("resume", epilog=EPILOG)
@sweep_argument(default="latest")
@click.option("--interference", is_flag=True, help="Also rerun runs that had interference in all attempts.")
@click.option(
    "--missing", is_flag=True, help="Start only runs without an outcome, or with one that the experiment retries."
)
@click.option("--force", is_flag=True, help="Also rerun runs in an unknown state, which may still be active.")
@failure_options
@click.option("--wait", is_flag=True, help="Wait until all jobs have ended.")
@json_option("Print JSON: the state of the sweep, or the result of a search.")
@click.option("--here", is_flag=True, hidden=True)  # of the job that searches
@click.pass_context
def resume_command(
    context: click.Context,
    sweep: str,
    interference: bool,
    missing: bool,
    force: bool,
    fail_fast: bool | None,
    max_failures: int | None,
    wait: bool,
    as_json: bool,
    here: bool,
) -> int:
    """Start the runs of SWEEP that were not submitted, failed, timed out, or were cancelled or lost.

    Runs that completed, are pending or running, cannot run here, or have an unknown state are not rerun. With --force,
    runs in an unknown state are also rerun; if their old jobs start later, those jobs do nothing. If SWEEP is an
    interrupted search, continue it; if the search has ended, print its result.
    """
    if interference and missing:
        raise UserError("--missing cannot be used with --interference", hint="use one of them")
    workspace = workspace_of(context)
    found = load_sweep(context, sweep)
    found.check_writable()
    paths = found.paths
    if found.tuning:
        from hpcbench.commands.shared.tuning import resume_search

        if interference or missing or force:
            what, hint = (
                "--interference, --missing and --force cannot be used with a search",
                "set measure.idle_node, then start a new search: hpcbench tune",
            )
            raise UserError(what, hint=hint)
        return resume_search(found, workspace, here=here, wait=wait, in_json=as_json)
    # A continuation job keeps the limit of the sweep.
    limit = None if missing else failure_limit_of(fail_fast, max_failures, found.scheduler)
    with locked(paths.jobs) as lease:
        if found.scheduler == "local":
            runs = _to_run(reconcile(found), workspace, interference, missing, force)
            _set_limit(found, limit)
            with resumable(paths.name, here=True):
                status = run_here(found, runs, lease)
        else:
            _submit(found, workspace, interference, missing, force, lease, limit)
            status = SUCCESS
    if wait and found.scheduler != "local":
        status = wait_for(found)
    if as_json:
        print_state(found)
    elif wait or found.scheduler == "local":
        print_next(found, status)
    return status


def _set_limit(sweep: Sweep, limit: FailureLimit | None) -> None:
    """Set the limit of the failures of a sweep, and forget those so far; do nothing if it is None."""
    if limit is not None:
        failure_limit.begin(limit, str(sweep.paths.results))


def _submit(
    sweep: Sweep,
    workspace: Workspace,
    interference: bool,
    missing: bool,
    force: bool,
    lease: Lease,
    limit: FailureLimit | None,
) -> None:
    from hpcbench.commands.shared.submit import submit_with_progress
    from hpcbench.submit.slurm_executor import adopt_orphans, check_available

    check_available(sweep.other_cluster, sweep.slurm_conf)
    journal = Journal.read(sweep.paths)
    with not_done_without_slurm("nothing was submitted", f"hpcbench resume {sweep.paths.name}"):
        adopt_orphans(sweep, journal)
        progress = reconcile(sweep) if force else _with_late_records(sweep)
    runs = _to_run(progress, workspace, interference, missing, force)
    if runs and progress.complaint and not force:
        raise UserError(
            f"runs may already be in the queue, because squeue did not list all jobs: {progress.complaint}",
            hint=f"to submit them anyway: hpcbench resume {sweep.paths.name} --force",
        )
    _set_limit(sweep, limit)
    if runs:
        _give_up([run for run in runs if run.state == UNKNOWN], journal)
        with resumable(sweep.paths.name):
            submit_with_progress(sweep, workspace, _arrays(progress, runs), journal, lease)


def _with_late_records(sweep: Sweep) -> Progress:
    """Return the state of each run, after waiting until the records of ended jobs are visible or late."""
    progress = reconcile(sweep)
    if progress.awaited_until is None:
        return progress
    missing = sum(run.awaited_until is not None for run in progress.runs)
    wait_s = max(0.0, progress.awaited_until - time.time()) + 0.5
    what = f"{plural(missing, 'run')} ended without a visible record"
    err.print(f"{what}; waiting {wait_s:.0f} s (limits.record_delay_s)", soft_wrap=True)
    time.sleep(wait_s)
    return reconcile(sweep)


def _give_up(runs: list[RunProgress], journal: Journal) -> None:
    """Record that the jobs of these runs must not run anything if they start later."""
    names = {batch.slurm_id: batch.name for batch in journal.accepted}
    indices: dict[str, set[int]] = {}
    for run in runs:
        if run.slurm_id in names and run.index is not None:
            indices.setdefault(names[run.slurm_id], set()).add(run.index)
    for batch, found in indices.items():
        journal.given_up(batch, found)


def _to_run(
    progress: Progress, workspace: Workspace, interference: bool, missing: bool, force: bool
) -> list[RunProgress]:
    """Return the runs to start. Raises UserError if one of their environments is missing."""
    sweep = progress.sweep
    for warning in progress.warnings:
        print_warning(warning)
    runs = progress.missing() if missing else progress.to_do(interference=interference)
    unknown = [run for run in progress.runs if run.state == UNKNOWN]
    if force:
        runs += unknown
    elif unknown:
        message = f"not rerun: {plural(len(unknown), 'run')}, state unknown {unknown[0].reason}"
        err.print(f"{message}; to rerun them anyway: --force", soft_wrap=True, markup=False)
    err.print(f"{sweep.paths.name}: {plural(len(runs), 'run')} to resume")
    refused = sum(run.state == UNSUPPORTED for run in progress.runs)
    if refused:
        message = f"{plural(refused, 'run')} cannot run here; if that has changed, start a new sweep"
        err.print(message, soft_wrap=True)
    for reason, count in not_starting(run for run in progress.runs if run.waits_for_ever).items():
        to_do = hint(reason)
        message = f"left in the queue: {plural(count, 'run')}, whose job does not start: {reason}"
        message += f"; {to_do}" if to_do else ""
        err.print(message, soft_wrap=True, markup=False)
    too_large = len(progress.still_too_large)
    if too_large:
        err.print(f"skipped: {plural(too_large, 'run')} larger than one that ran out of memory", soft_wrap=True)
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
        print_warning(inherited)
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
