"""Submit a sweep with a progress bar, and report what is left: for sweep and resume."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich.progress import Progress

from hpcbench.store.journal import Journal
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from hpcbench.submit.queue_filling import fill
from hpcbench.submit.slurm_executor import Array
from hpcbench.util.console import err
from hpcbench.util.locking.lease import Lease
from hpcbench.util.text import plural


def submit_with_progress(
    sweep: Sweep,
    workspace: Workspace,
    arrays: list[Array],
    journal: Journal,
    lease: Lease,
    later: Sequence[Array] = (),
) -> None:
    """Submit these arrays, or as much of them as the queue accepts, and report what is left and the next step.

    Jobs of `later` arrays start after all jobs of `arrays` have ended.

    Raise UserError if sbatch refuses an array or the continuation job.
    """
    name = sweep.paths.name
    with Progress(console=err, transient=True, disable=not err.is_terminal) as bar:

        def track(each: list[Array]) -> Iterable[Array]:
            return bar.track(each, description="submitting")

        left = fill(sweep, workspace, arrays, journal, lease, track)
        if later and not left.arrays:
            after = tuple(batch.slurm_id for batch in journal.accepted if batch.slurm_id)
            left = fill(sweep, workspace, [replace(each, after=after) for each in later], journal, lease, track)
        elif later:
            left = replace(left, arrays=(*left.arrays, *later))
    if not left.arrays:
        err.print(f"submitted; see: hpcbench status {name}")
        return
    err.print(f"{plural(left.jobs, 'job')} of {name} did not fit into the queue: {left.limit}", soft_wrap=True)
    if left.problem:
        raise left.problem
    if left.continuation:
        message = f"continuation job {left.continuation} submits them when other jobs have ended"
        err.print(f"{message}; see: hpcbench status {name}", soft_wrap=True)
        return
    err.print(f"when other jobs have ended, submit them: hpcbench resume {name} --missing", soft_wrap=True)
