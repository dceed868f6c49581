"""Submitting as much of a sweep as the limits of the cluster leave room for, and the job that submits the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.slurm import queue
from hpcbench.slurm.submit_limits import Limits
from hpcbench.store.journal import Journal
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from hpcbench.submit import continuation_job
from hpcbench.submit.slurm_executor import Array, QueueFullError, submit
from hpcbench.util.locking.lease import Lease

Track = Callable[[list[Array]], Iterable[Array]]


@dataclass(frozen=True)
class Left:
    """What did not fit into the queue, by which limit, and whether a job can follow on."""

    arrays: tuple[Array, ...]
    why: str
    follows: bool

    @property
    def jobs(self) -> int:
        return sum(len(array.packs) for array in self.arrays)


def fill(sweep: Sweep, arrays: list[Array], journal: Journal, lease: Lease, track: Track) -> Left:
    """Submit these arrays, or as much of them as there is room for; `track` gives them one by one.

    Raises UserError, with sbatch's own words, where it says no for another reason.
    """
    limits = Limits.read(sweep.site)
    slurm = sweep.slurm(arrays[0].job)
    if _follows(slurm, limits) and limits.room(slurm).tasks != 0 and not _all_fit(sweep, arrays, limits):
        limits = limits.submitted(slurm, 1)  # the place of the job that follows on, before all of them are taken
    left: list[Array] = []
    why = ""
    for array in track(arrays):
        slurm = sweep.slurm(array.job)
        now, later = _divided(array, limits.room(slurm).tasks)
        try:
            if now.packs:
                submit(sweep, now, journal, lease)
        except QueueFullError as full:  # somebody else was quicker
            later, why = array, full.what
        else:
            limits = limits.submitted(slurm, len(now.packs))
        if later.packs:
            left.append(later)
            why = why or limits.room(slurm).limit
    return Left(tuple(left), why, bool(left) and _follows(sweep.slurm(left[0].job), limits))


def follow(sweep: Sweep, workspace: Workspace, left: Left, journal: Journal, lease: Lease) -> str:
    """The id of the job that submits what is left: one that waits already, or else a new one. Raises UserError."""
    queued = queue.ask(sweep.paths.name, sweep.job_names, journal)
    waiting = continuation_job.waiting(queued)
    if waiting:
        return waiting[0]
    slurm = sweep.slurm(left.arrays[0].job)
    last = queued.last_of_largest_array(continuation_job.LAST)
    if last:
        start = continuation_job.after(last)
    elif _has_emptied(sweep, slurm):
        start = continuation_job.AT_ONCE
    else:
        start = continuation_job.LATER
    return continuation_job.submit(sweep, workspace, slurm, start, queued, lease)


def _has_emptied(sweep: Sweep, slurm: SlurmOptions) -> bool:
    """Whether there is room by now, for one of its jobs and the one that follows on: others have ended meanwhile."""
    room = Limits.read(sweep.site).room(slurm).tasks
    return room is None or room >= continuation_job.FEWEST_PLACES - 1


def _follows(slurm: SlurmOptions, limits: Limits) -> bool:
    """Whether a job submits what does not fit now: that is asked for, and the limits leave places for it."""
    most = limits.most(slurm)
    return slurm.follow_on and (most is None or most >= continuation_job.FEWEST_PLACES)


def _all_fit(sweep: Sweep, arrays: list[Array], limits: Limits) -> bool:
    for array in arrays:
        slurm = sweep.slurm(array.job)
        tasks = limits.room(slurm).tasks
        if tasks is not None and tasks < len(array.packs):
            return False
        limits = limits.submitted(slurm, len(array.packs))
    return True


def _divided(array: Array, room: int | None) -> tuple[Array, Array]:
    fitting = len(array.packs) if room is None else room
    return replace(array, packs=array.packs[:fitting]), replace(array, packs=array.packs[fitting:])
