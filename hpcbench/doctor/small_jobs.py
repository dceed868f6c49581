"""Run the small jobs of doctor: submit them, wait until they have ended, and cancel those that do not start in time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hpcbench.core.check_result import Progress
from hpcbench.errors import UserError
from hpcbench.slurm import queue, states
from hpcbench.slurm.client import NoAnswerError, output_of, quoted
from hpcbench.slurm.job_entry import JobEntry
from hpcbench.slurm.job_id import job_id_in
from hpcbench.slurm.job_lookup import look_up
from hpcbench.slurm.submit_limits import exceeded_limit

POLL_S = 2.0
OVERDUE_S = 60.0  # allowed beyond the time limit of a job
_NAMED = 4  # with more jobs, progress counts them


@dataclass
class SmallJob:
    """A job in the queue, and its outcome. Its script is one of job_files.py.

    After `run_jobs`, a job was refused, has ended, or is late: it was cancelled before or after its start.
    """

    name: str  # of the partition or node, for users
    script: Path
    limit_s: float
    cluster: str | None = None
    slurm_id: str = ""
    refused: str = ""  # the message of sbatch
    started: bool = False
    ended: bool = False
    late: bool = False
    reason: str = ""
    host: str = ""
    submitted_at: float = 0.0

    @property
    def active(self) -> bool:
        """Return whether the job is in the queue, as far as is known."""
        return bool(self.slurm_id) and not (self.ended or self.late)

    @property
    def in_words(self) -> str:
        """Return the state of the job, e.g. `gpu: waiting, not enough power is available`."""
        phase = "done" if self.ended else f"running on {self.host}" if self.started else "waiting"
        return f"{self.name}: {phase}" + (f", {self.reason}" if phase == "waiting" and self.reason else "")

    def why_late(self, timeout_s: float) -> str:
        """Return why a late job was cancelled; `timeout_s` is that of `run_jobs`."""
        if self.started:
            return f"the job on {self.host} exceeded its time limit; cancelled"
        return f"the job did not start in {timeout_s:.0f} s; cancelled" + (f": {self.reason}" if self.reason else "")


def run_jobs(jobs: Sequence[SmallJob], timeout_s: float, progress: Progress) -> None:
    """Submit these jobs, and return when each was refused, has ended, or is late.

    A job is late if it has not started `timeout_s` seconds after its submission, or exceeds its time limit. If sbatch
    accepts no more jobs of this user, the rest is submitted when jobs have ended. Late jobs are cancelled; after an
    exception, all jobs are.
    """
    with _cancelled_after_an_exception(jobs):
        rest = list(jobs)
        while rest or any(job.active for job in jobs):
            while rest and _submit(rest[0], wait=any(job.active for job in jobs)):
                job = rest.pop(0)
                if len(jobs) > _NAMED:
                    progress(f"submitting {len(jobs)} jobs", job.name)
            _update([job for job in jobs if job.active])
            _give_up([job for job in jobs if job.active], timeout_s)
            progress(*_in_words(jobs))
            if any(job.active for job in jobs):
                time.sleep(POLL_S)


def _in_words(jobs: Sequence[SmallJob]) -> tuple[str, str]:
    if len(jobs) <= _NAMED:
        return "; ".join(job.in_words for job in jobs), ""
    running = sum(job.active and job.started for job in jobs)
    waiting = sum(job.active and not job.started for job in jobs)
    done = sum(bool(job.ended or job.late or job.refused) for job in jobs)
    return f"{len(jobs)} jobs", f"{done} done, {running} running, {waiting} waiting"


def _submit(job: SmallJob, wait: bool) -> bool:
    """Submit a job; return False if it must wait, since sbatch accepts no more jobs now and `wait` is true."""
    try:
        lines = output_of(["sbatch", "--parsable", str(job.script)], job.cluster)
    except UserError as error:
        if wait and exceeded_limit(error.what):
            return False
        job.refused = " ".join(error.what.split())
        return True
    job.slurm_id = job_id_in("\n".join(lines)) or ""
    job.submitted_at = time.monotonic()
    if not job.slurm_id:
        job.refused = f"no clear job ID in the output of sbatch: {quoted(lines)!r}"
    return True


def _update(jobs: Sequence[SmallJob]) -> None:
    """Update the states of active jobs. Leave them unchanged if Slurm does not respond: the next query may succeed."""
    try:
        entries = queue.by_id([job.slurm_id for job in jobs], jobs[0].cluster).entries if jobs else {}
    except NoAnswerError:
        return
    for job in jobs:
        entry = entries.get((job.slurm_id, 0))
        answer = look_up(job.slurm_id, job.cluster) if entry is None else None
        if answer is not None and answer.is_unknown:  # slurmctld has removed the job
            job.ended = True
            continue
        entry = entry or (answer.entry if answer else None)
        if entry is not None:
            _take_over(job, entry)


def _take_over(job: SmallJob, entry: JobEntry) -> None:
    job.ended, job.host, job.reason = entry.ended, entry.nodes, entry.why_pending
    job.started = job.started or states.phase_of(entry.state) == states.RUNNING


def _give_up(jobs: Sequence[SmallJob], timeout_s: float) -> None:
    """Cancel active jobs that have not started in time, or exceed their time limit."""
    for job in jobs:
        waited_s = time.monotonic() - job.submitted_at
        overdue = waited_s > timeout_s + job.limit_s + OVERDUE_S
        if overdue or (not job.started and waited_s > timeout_s):
            job.late = True
            _cancel(job)


def _cancel(job: SmallJob) -> None:
    with contextlib.suppress(UserError):
        output_of(["scancel", job.slurm_id], job.cluster)


@contextmanager
def _cancelled_after_an_exception(jobs: Sequence[SmallJob]) -> Iterator[None]:
    try:
        yield
    except BaseException:
        for job in jobs:
            if job.active:
                _cancel(job)
        raise
