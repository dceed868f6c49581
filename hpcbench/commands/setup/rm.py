"""hpcbench rm: delete sweeps."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import click
from rich import filesize

from hpcbench.commands.shared.context import confirm, sweep_argument, workspace_of, yes_option
from hpcbench.errors import UserError
from hpcbench.status.progress import Progress
from hpcbench.status.query import query
from hpcbench.status.tuning_state import search_state
from hpcbench.store import ownership, removal
from hpcbench.store.archive.pack import SUFFIX
from hpcbench.store.journal import locked
from hpcbench.store.sweep import load
from hpcbench.store.workspace import SweepPaths, Workspace
from hpcbench.util.console import err
from hpcbench.util.disk_usage import size_bytes
from hpcbench.util.exit_status import exit_statuses
from hpcbench.util.text import plural

EPILOG = """\b
Examples:
  hpcbench rm lstm-threads-20260311-101500
  hpcbench rm base new --yes               without confirmation
  hpcbench list sweeps                     names and sizes
""" + exit_statuses()


class Removable(NamedTuple):
    """A sweep that may be deleted, with its size in bytes and the number of runs with a result."""

    paths: SweepPaths
    size_bytes: int
    results: int


@click.command("rm", epilog=EPILOG)
@sweep_argument(nargs=-1, required=True)
@yes_option("Do not ask for confirmation. Requires full names.")
@click.pass_context
def rm_command(context: click.Context, sweep: tuple[str, ...], yes: bool) -> int:
    """Delete each SWEEP: its scripts, logs, records and report page in jobs/SWEEP and results/SWEEP.

    Show the sizes and ask for confirmation first. Archives are kept, as are sweeps with pending or running runs. Sweeps
    on Slurm can be deleted only if Slurm responds.
    """
    workspace = workspace_of(context)
    names = dict.fromkeys(_full_name(workspace, name, yes) for name in sweep)
    found = [_removable(workspace.paths(name)) for name in names]
    for each in found:
        err.print(f"  {_described(each)}", soft_wrap=True, markup=False)
    total = sum(each.size_bytes for each in found)
    what = found[0].paths.name if len(found) == 1 else plural(len(found), "sweep")
    confirm(f"Delete {what} ({filesize.decimal(total)})?", yes, "add --yes")
    for each in found:
        with locked(each.paths.jobs):
            _check_at_rest(each.paths)  # again: it may have been resumed while the question was open
            removal.hide(each.paths)
    removal.delete_hidden(workspace)
    err.print(f"deleted {', '.join(names)}: {filesize.decimal(total)} freed", soft_wrap=True, markup=False)
    return 0


def _full_name(workspace: Workspace, name: str, yes: bool) -> str:
    """Return the full name of a sweep. Raise UserError if it is not found or, with --yes, is given by another name."""
    found = workspace.find(name).name
    if yes and found != name:
        what = f"'{name}' is not the full name of a sweep, which --yes requires"
        raise UserError(what, hint=f"hpcbench rm {found} --yes")
    return found


def _removable(paths: SweepPaths) -> Removable:
    """Return a sweep that may be deleted. Raise UserError if it may not."""
    ownership.check(paths, shared=False)
    with locked(paths.jobs):
        progress = _check_at_rest(paths)
    size = size_bytes(paths.jobs) + size_bytes(paths.results)
    return Removable(paths, size, sum(run.ended for run in progress.runs))


def _check_at_rest(paths: SweepPaths) -> Progress:
    """Return the state of a sweep. Raise UserError unless it is this user's and its runs have ended."""
    sweep = load(paths)
    try:
        progress = query(sweep)
        searching = sweep.tuning is not None and search_state(sweep).goes_on
    except UserError as error:
        hint = f"try again when Slurm responds; if its cluster no longer exists: rm -r {paths.jobs} {paths.results}"
        raise UserError(
            f"not deleted, because its jobs may be active: {error.what}", where=paths.name, hint=hint
        ) from error
    if progress.active_runs or searching or progress.follow_on or progress.complaint:
        what = plural(progress.active_runs, "run") if progress.active_runs else "a job"
        why = progress.complaint or f"{what} may be pending or running"
        is_local = sweep.scheduler == "local" and sweep.tuning is None
        how = "press Ctrl-C in its terminal" if is_local else f"hpcbench cancel {paths.name}"
        raise UserError(f"not deleted: {why}", where=paths.name, hint=f"end it first: {how}")
    return progress


def _described(each: Removable) -> str:
    name = each.paths.name
    archive = Path(f"{name}{SUFFIX}")
    kept = f", archive {archive}" if archive.is_file() else ", no archive here"
    return f"{name}: {filesize.decimal(each.size_bytes)}, {plural(each.results, 'run')} with a result{kept}"
