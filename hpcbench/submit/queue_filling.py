"""Submit as much of a sweep as the queue accepts, and the continuation job that submits the rest.

Only slurmctld can evaluate its limits. hpcbench halves an array that exceeds one of them until a part is accepted, and
submits further parts until a single job is refused: the accepted arrays fill the queue exactly.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from hpcbench.config.slurm_options import SlurmOptions
from hpcbench.errors import UserError
from hpcbench.slurm import queue
from hpcbench.slurm.client import output_of
from hpcbench.slurm.submit_limits import PER_USER, Capacity, jobs_of_user, read_capacity
from hpcbench.store.journal import Journal
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import Workspace
from hpcbench.submit import continuation_job
from hpcbench.submit.slurm_executor import Array, QueueFullError, submit
from hpcbench.util.locking.lease import Lease

Track = Callable[[list[Array]], Iterable[Array]]
_LAST = 3  # elements that a continuation job waits for: it starts when any has ended, even if a user holds the others


@dataclass(frozen=True)
class Remaining:
    """The arrays that were not submitted, the limit, and the ID of the continuation job or why it was not submitted."""

    arrays: tuple[Array, ...] = ()
    limit: str = ""
    continuation: str | None = None
    problem: UserError | None = None

    @property
    def jobs(self) -> int:
        """Return the number of jobs that were not submitted."""
        return sum(len(array.packs) for array in self.arrays)


def fill(
    sweep: Sweep, workspace: Workspace, arrays: list[Array], journal: Journal, lease: Lease, track: Track
) -> Remaining:
    """Submit these arrays, or as much of them as the queue accepts; `track` yields them one by one.

    With `slurm.follow_on`, submit a continuation job for the rest: before the queue is full, since it is a job, too.
    Raise UserError, with the message of sbatch, if sbatch refuses an array for another reason than too many jobs.
    """
    asked = (sweep.slurm(array.job) for array in arrays)
    slurm = next((each for each in asked if each.follow_on), None)
    filling = _Filling(sweep, workspace, journal, lease, slurm, read_capacity(sweep.site))
    filling.check_capacity(sum(len(array.packs) for array in arrays))
    try:
        left = filling.submit(track(arrays))
    except UserError:
        with contextlib.suppress(UserError):
            filling.cancel_continuation()
        raise
    if left and filling.waiting is not None:
        return Remaining(tuple(left), filling.limit, filling.waiting)
    if left and slurm is not None:
        return filling.continue_later(left, slurm)
    filling.cancel_continuation()
    return Remaining(tuple(left), filling.limit)


@dataclass
class _Filling:
    """The state while arrays are submitted."""

    sweep: Sweep
    workspace: Workspace
    journal: Journal
    lease: Lease
    continuation_options: SlurmOptions | None  # None without `slurm.follow_on`
    capacity: Capacity
    waiting: str | None = None  # a continuation job of an earlier hpcbench
    continuation: str | None = None  # the continuation job of this one
    limit: str = ""  # the first one that was exceeded
    accepted: int = 0  # jobs
    full: set[tuple[str | None, ...]] = field(default_factory=set)  # partition, account and QOS

    def check_capacity(self, jobs: int) -> None:
        """Submit the continuation job at once if it is known that not all jobs fit."""
        if self.capacity.at_most(jobs) < jobs:
            self._exceeded(self.capacity.limit)

    def submit(self, arrays: Iterable[Array]) -> list[Array]:
        """Submit as much of these arrays as the queue accepts; return the rest."""
        return [left for left in map(self._submit_array, arrays) if left.packs]

    def _submit_array(self, array: Array) -> Array:
        slurm = self.sweep.slurm(array.job)
        scope = (slurm.partition, slurm.account, slurm.qos)
        size = 0 if scope in self.full else self.capacity.at_most(len(array.packs))
        while size:
            try:
                submit(self.sweep, replace(array, packs=array.packs[:size]), self.journal, self.lease)
            except QueueFullError as full:
                self._exceeded(full.limit)
            else:
                array = replace(array, packs=array.packs[size:])
                self.accepted += size
                self.capacity = self.capacity.less(size)
                if slurm.max_running:  # it limits each array: several arrays of a job would exceed it together
                    return array
            # Fewer than `size` jobs fit now. Repeated halves, rounded up, can add up to each smaller number.
            half = (size + 1) // 2 if size > 1 else 0
            size = self.capacity.at_most(min(half, len(array.packs)))
        if array.packs:
            self.full.add(scope)
        return array

    def _exceeded(self, limit: str) -> None:
        """Store the first exceeded limit, and submit the continuation job then, while it may still fit."""
        first, self.limit = not self.limit, self.limit or limit
        if not first or self.continuation_options is None:
            return
        self.waiting = next(iter(continuation_job.waiting(self._queue())), None)
        if self.waiting is None:
            with contextlib.suppress(UserError):  # continue_later() tries again, and reports it
                self._submit_continuation(self.continuation_options)

    def continue_later(self, left: list[Array], slurm: SlurmOptions) -> Remaining:
        """Let a continuation job start when the sweep's last jobs end, or in ten minutes if others fill the queue."""
        queued = self._queue()
        last = queued.last_of_largest_array(_LAST)
        if not last and not self.accepted and self._is_alone(queued):
            # The sweep's jobs have ended in the meantime, or the limit is so low that only the continuation job fits.
            self.cancel_continuation()
            self.capacity, self.full = read_capacity(self.sweep.site), set()
            left = self.submit(left)
            if not left:
                return Remaining()
            last = self._queue().last_of_largest_array(_LAST)
        try:
            job = self.continuation or self._submit_continuation(slurm)
        except UserError as error:
            own = continuation_job.own_id(queued)
            if own is None or not isinstance(error, QueueFullError):
                return Remaining(tuple(left), self.limit, problem=error)
            continuation_job.requeue(own, self.sweep.other_cluster)
            return Remaining(tuple(left), self.limit, own)
        if last or self.accepted:
            with contextlib.suppress(UserError):  # without it, the job starts in ten minutes
                continuation_job.start_after(job, last, self.sweep.other_cluster)
        return Remaining(tuple(left), self.limit, job)

    def _is_alone(self, queued: queue.Queue) -> bool:
        """Return whether the limit counts only jobs of this user, and these are only this sweep's continuation jobs."""
        if not any(name in self.limit for name in PER_USER):
            return False
        return jobs_of_user(self.sweep.other_cluster) <= queued.follow_on.keys()

    def cancel_continuation(self) -> None:
        """Cancel the continuation job that this hpcbench has submitted, if any."""
        if self.continuation is not None:
            output_of(["scancel", self.continuation], self.sweep.other_cluster)
            self.continuation = None

    def _submit_continuation(self, slurm: SlurmOptions) -> str:
        self.continuation = continuation_job.submit(self.sweep, self.workspace, slurm, self.lease)
        self.capacity = self.capacity.less(1)
        return self.continuation

    def _queue(self) -> queue.Queue:
        return queue.query(self.sweep, self.journal)
