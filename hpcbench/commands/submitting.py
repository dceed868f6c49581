"""Submitting with a progress bar, as much as the limits of the cluster leave room for: shared by sweep and resume."""

from __future__ import annotations

from dataclasses import replace

from rich.progress import Progress

from hpcbench.commands.common import err, plural
from hpcbench.config.site import Site
from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.lease import Lease
from hpcbench.submit import follow_on, queue
from hpcbench.submit.journal import Journal
from hpcbench.submit.limits import Limits
from hpcbench.submit.slurm import Array, QueueFullError, submit
from hpcbench.submit.sweep import Sweep
from hpcbench.workspace import Workspace


def submit_with_progress(
    sweep: Sweep, workspace: Workspace, arrays: list[Array], journal: Journal, lease: Lease
) -> None:
    """Submit these arrays, or as much of them as there is room for, and say what is left and how it goes on."""
    limits = Limits.read(Site.model_validate(sweep.description["site"]))
    slurm = sweep.slurm(arrays[0].job)
    if _follows(slurm, limits) and not _all_fit(sweep, arrays, limits):
        limits = limits.submitted(slurm, 1)  # the place of the job that follows on, before all of them are taken
    left: list[Array] = []
    why = ""
    with Progress(console=err, transient=True, disable=not err.is_terminal) as bar:
        for array in bar.track(arrays, description="submitting"):
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
    if not left:
        err.print(f"submitted; see: hpcbench status {sweep.paths.name}")
        return
    count = sum(len(array.packs) for array in left)
    err.print(f"{plural(count, 'job')} of {sweep.paths.name} did not fit into the queue ({why})", soft_wrap=True)
    slurm = sweep.slurm(left[0].job)
    if _follows(slurm, limits):
        _follow_on(sweep, workspace, slurm, journal, lease)
        return
    if slurm.follow_on:
        fewest = follow_on.FEWEST_PLACES
        err.print(
            f"no job follows on: it takes places of its own, and a limit of {fewest} jobs at least", soft_wrap=True
        )
    err.print(f"submit them when others have ended: hpcbench resume {sweep.paths.name} --missing", soft_wrap=True)


def _follows(slurm: SlurmOptions, limits: Limits) -> bool:
    """Whether a job submits what does not fit now: that is asked for, and the limits leave places for it."""
    most = limits.most(slurm)
    return slurm.follow_on and (most is None or most >= follow_on.FEWEST_PLACES)


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


def _follow_on(sweep: Sweep, workspace: Workspace, slurm: SlurmOptions, journal: Journal, lease: Lease) -> None:
    name = sweep.paths.name
    queued = queue.ask(name, sweep.job_names, journal)
    (job, *_) = follow_on.waiting(queued) or [follow_on.submit(sweep, workspace, slurm, queued, lease)]
    err.print(f"job {job} submits them when others have ended; see: hpcbench status {name}", soft_wrap=True)
