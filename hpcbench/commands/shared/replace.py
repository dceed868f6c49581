"""Replace a sweep by a new one of the same name: for sweep --replace."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext

import click

from hpcbench.errors import UserError
from hpcbench.status.query import query
from hpcbench.status.tuning_state import search_state
from hpcbench.store.journal import locked
from hpcbench.store.set_aside import restore, set_aside
from hpcbench.store.sweep import Sweep, load
from hpcbench.store.workspace import SweepPaths
from hpcbench.util.text import plural


def replacing(paths: SweepPaths, origin: SweepPaths | None, *, yes: bool) -> AbstractContextManager[None]:
    """Return a context that replaces an existing sweep: the old one is deleted after the block has created the new one.

    Ask before records are deleted, unless `yes`. Raise UserError if the sweep has active runs, if its state is unknown,
    if it is the `origin` of the new one, or without the user's consent.
    """
    restore(paths)  # an earlier replacement may have been killed
    if not paths.jobs.exists():
        return nullcontext()
    if origin == paths:
        hint = "give the experiment instead of --from"
        raise UserError("--replace cannot be used with --from for the same sweep", hint=hint)
    sweep = load(paths)
    sweep.check_writable()
    _confirm(paths.name, _records_at_rest(sweep), yes=yes)
    _records_at_rest(sweep)  # again: it may have been resumed while the question was open
    return set_aside(paths)


def _records_at_rest(sweep: Sweep) -> int:
    """Return the number of records of a sweep. Raise UserError if its runs, its search or its jobs may be active."""
    name = sweep.paths.name
    with locked(sweep.paths.jobs):
        progress = query(sweep)
    searching = sweep.tuning is not None and search_state(sweep).goes_on
    if progress.active_runs or searching or progress.follow_on or progress.complaint:
        other = "its search is active" if searching else progress.complaint or "its continuation job is active"
        active = plural(progress.active_runs, "active run")
        what = f"the sweep '{name}' has {active}" if progress.active_runs else other
        hint = f"wait until they have ended, or cancel them: hpcbench cancel {name}"
        raise UserError(what, where=f"--replace --name {name}", hint=hint)
    return sum(run.ended for run in progress.runs)


def _confirm(name: str, records: int, *, yes: bool) -> None:
    if yes or not records:
        return
    what = f"--replace deletes the sweep '{name}' with {plural(records, 'record')}"
    if not _is_terminal():
        raise UserError(what, hint="to delete them without confirmation: --yes")
    if not click.confirm(f"{what}. Continue?", err=True):
        raise UserError("nothing was replaced", hint="give the new sweep another --name")


def _is_terminal() -> bool:
    """Return whether a question can be answered."""
    return sys.stdin.isatty()
