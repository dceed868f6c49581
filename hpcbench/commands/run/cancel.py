"""hpcbench cancel: cancel the pending and running jobs of a sweep."""

from __future__ import annotations

import click

from hpcbench.commands.shared.context import confirm, load_sweep, not_done_without_slurm, sweep_argument, yes_option
from hpcbench.errors import UserError
from hpcbench.slurm.search_job import searching
from hpcbench.status.progress import UNKNOWN
from hpcbench.status.reconcile import reconcile
from hpcbench.store.journal import Journal, locked
from hpcbench.store.sweep import Sweep
from hpcbench.util.console import err, print_warning
from hpcbench.util.exit_status import exit_statuses
from hpcbench.util.text import plural

EPILOG = """\b
Examples:
  hpcbench cancel                                the latest sweep, after confirmation
  hpcbench cancel latest                         without confirmation
  hpcbench cancel lstm-threads-20260311-101500
""" + exit_statuses()
_NOTHING = "nothing was cancelled, and the jobs continue"
_INCOMPLETE = "some jobs may not have been cancelled and may continue"


@click.command("cancel", epilog=EPILOG)
@sweep_argument(required=False)
@yes_option("Do not ask for confirmation if SWEEP is omitted.")
@click.pass_context
def cancel_command(context: click.Context, sweep: str | None, yes: bool) -> int:
    """Cancel all pending and running Slurm jobs of SWEEP. Completed runs remain.

    Without SWEEP, ask whether to cancel the latest sweep.
    """
    found = load_sweep(context, sweep or "latest")
    if sweep is None:
        confirm(f"Cancel the jobs of the latest sweep, {found.paths.name}?", yes, "name a SWEEP, or add --yes")
    found.check_writable()
    if found.tuning and found.tuning.get("scheduler") == "slurm":
        return _cancel_search(found)
    if found.scheduler == "local":
        raise UserError(
            f"'{found.paths.name}' is a local sweep, which cannot be cancelled from another shell",
            hint="press Ctrl-C in its terminal; if its hpcbench was killed, the sweep ends after the current run",
        )
    from hpcbench.submit.slurm_executor import adopt_orphans
    from hpcbench.submit.slurm_executor import cancel as cancel_arrays

    with locked(found.paths.jobs):
        journal = Journal.read(found.paths)
        with not_done_without_slurm(_NOTHING, _again(found)):
            adopt_orphans(found, journal)
            progress = reconcile(found)
        for warning in progress.warnings:
            print_warning(warning)
        # Runs in unknown state are cancelled, too: Slurm ignores the ID of a job that has ended.
        unknown = [run for run in progress.runs if run.state == UNKNOWN and run.slurm_id is not None]
        active = [run for run in progress.runs if run.in_queue] + unknown
        new = [run for run in active if run.slurm_id not in journal.ids_cancelled]
        unclear = [run for run in unknown if run.slurm_id not in journal.ids_cancelled]
        # What would submit the rest goes first.
        arrays = dict.fromkeys([*progress.follow_on, *(str(run.slurm_id) for run in active)])
        with not_done_without_slurm(_INCOMPLETE, _again(found)):
            cancel_arrays(found, arrays, journal)
    if unclear:
        err.print(
            f"{plural(len(unclear), 'run')} may already have ended: state unknown {unclear[0].reason}",
            soft_wrap=True,
            markup=False,
        )
    if len(new) < len(active):
        earlier = plural(len(active) - len(new), "run")
        err.print(f"already cancelled: {earlier}; Slurm may still be ending their jobs", soft_wrap=True)
    of_runs = f"{plural(len(new), 'run')} in {plural(len({run.slurm_id for run in new}), 'array')}"
    err.print(f"cancelled {of_runs}{', and the continuation job' if progress.follow_on else ''}")
    return 0


def _again(sweep: Sweep) -> str:
    return f"hpcbench cancel {sweep.paths.name}"


def _cancel_search(sweep: Sweep) -> int:
    from hpcbench.submit.slurm_executor import cancel as cancel_arrays

    # The job itself holds the sweep's lock while it searches. So the journal is only added to, and no orphan is given
    # up: another hpcbench may be submitting it. A job is found by its name, whether the journal has its id or not.
    journal = Journal.read(sweep.paths)
    with not_done_without_slurm(_NOTHING, _again(sweep)):
        jobs = searching(sweep, journal)
    with not_done_without_slurm(_INCOMPLETE, _again(sweep)):
        cancel_arrays(sweep, jobs, journal)
    err.print(f"cancelled {plural(len(jobs), 'job')}")
    return 0
