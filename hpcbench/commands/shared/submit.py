"""Submitting with a progress bar, and saying what is left and how it goes on: shared by sweep and resume."""

from __future__ import annotations

from rich.progress import Progress

from hpcbench.store.journal import Journal
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from hpcbench.submit.continuation_job import FEWEST_PLACES
from hpcbench.submit.queue_filling import fill, follow
from hpcbench.submit.slurm_executor import Array
from hpcbench.util.console import err
from hpcbench.util.locking.lease import Lease
from hpcbench.util.text import plural


def submit_with_progress(
    sweep: Sweep, workspace: Workspace, arrays: list[Array], journal: Journal, lease: Lease
) -> None:
    """Submit these arrays, or as much of them as there is room for, and say what is left and how it goes on."""
    name = sweep.paths.name
    with Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
        left = fill(sweep, arrays, journal, lease, lambda each: bar.track(each, description="submitting"))
    if not left.arrays:
        err.print(f"submitted; see: hpcbench status {name}")
        return
    err.print(f"{plural(left.jobs, 'job')} of {name} did not fit into the queue ({left.why})", soft_wrap=True)
    if left.follows:
        job = follow(sweep, workspace, left, journal, lease)
        err.print(f"job {job} submits them when others have ended; see: hpcbench status {name}", soft_wrap=True)
        return
    if sweep.slurm(left.arrays[0].job).follow_on:
        places = f"it takes places of its own, and a limit of {FEWEST_PLACES} jobs at least"
        err.print(f"no job follows on: {places}", soft_wrap=True)
    err.print(f"submit them when others have ended: hpcbench resume {name} --missing", soft_wrap=True)
