"""The state of each run of a sweep, for commands that only read: nothing in the workspace changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hpcbench.errors import UserError
from hpcbench.status.progress import Progress
from hpcbench.status.reconcile import conclude, with_conclusions
from hpcbench.status.snapshot import take_snapshot
from hpcbench.status.survey import survey
from hpcbench.store.sweep import Sweep
from hpcbench.util.gc_pause import without_garbage_collection
from hpcbench.util.text import plural


@without_garbage_collection()
def query(sweep: Sweep, *, ask_slurm: bool = True) -> Progress:
    """Return the state of each run, and write nothing.

    A run that ended without a record has the outcome that `reconcile` would save; a warning names the commands that
    save it. Raise UserError if Slurm has to be queried and does not respond.
    """
    snapshot = take_snapshot(sweep, ask_slurm=ask_slurm)
    concluded = conclude(snapshot)
    if not concluded:
        return survey(snapshot)
    progress = survey(with_conclusions(snapshot, concluded))
    unsaved = sum(run.is_concluded for run in progress.runs)
    return replace(progress, warnings=(*progress.warnings, *([_hint(sweep, unsaved)] if unsaved else [])))


def or_records(ask: Callable[[Sweep], Progress], sweep: Sweep) -> Progress:
    """Return the result of `ask`. If Slurm does not respond, return the state by the records alone, with a warning."""
    try:
        return ask(sweep)
    except UserError as error:
        progress = query(sweep, ask_slurm=False)
        warning = f"{error.what}; only the records are counted"
        return replace(progress, warnings=(*progress.warnings, warning), slurm_responded=False)


def _hint(sweep: Sweep, unsaved: int) -> str:
    name = sweep.paths.name
    saves = f"`hpcbench resume {name}` or `hpcbench status {name} --watch`"
    return f"{plural(unsaved, 'run')} ended without a record; save the outcome before Slurm forgets it: {saves}"
