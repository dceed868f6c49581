"""Looking at the nodes of a cluster: one small job on each partition, submitted together and awaited for a while."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hpcbench.config.site import Partition, Site
from hpcbench.config.slurm_options import walltime_s
from hpcbench.core.check_result import PROBLEM, WARNING, Finding, Progress
from hpcbench.doctor.checked_host import Place
from hpcbench.doctor.checkup_job import LIMIT, NODE, Checkup, Wanted, of_partition, what_to_ask
from hpcbench.errors import UserError
from hpcbench.slurm import states
from hpcbench.slurm.client import output_of
from hpcbench.store.workspace import Workspace
from hpcbench.submit.zipapp import node_zipapp

POLL_S = 2.0
OVERDUE_S = 60.0  # for what its time limit should have ended
SETTLE_S = 10.0  # until files of another node are seen here


@dataclass
class _Submitted:
    """A job on its way."""

    checkup: Checkup
    slurm_id: str
    started: bool = False
    ended: bool = False
    reason: str = ""
    host: str = ""

    def in_words(self) -> str:
        phase = "done" if self.ended else f"running on {self.host}" if self.started else "waiting"
        return f"{self.checkup.partition}: {phase}" + (f", {self.reason}" if phase == "waiting" and self.reason else "")


def look(
    workspace: Workspace,
    site: Site,
    partitions: Mapping[str, Partition],
    folder: Path,
    wanted: Wanted,
    patience_s: float,
    progress: Progress,
) -> list[Place]:
    """What a job on each of these partitions finds; one that has not started after `patience_s` is cancelled.

    `folder` is one that the nodes see. Raises UserError where the workspace's own template cannot be used.
    """
    (folder / "node.pyz").write_bytes(node_zipapp())
    places: dict[str, Place] = {}
    jobs: list[_Submitted] = []
    with _cancelled_at_the_end(jobs):
        for number, (name, partition) in enumerate(partitions.items()):
            asked = what_to_ask(site, name, partition, wanted.whole_node)
            checkup = Checkup(name, folder, number, asked, wanted)
            checkup.write(workspace, site)
            try:
                jobs.append(_Submitted(checkup, _sbatch(checkup.script)))
            except UserError as error:
                places[name] = _refused(name, error)
        _wait(jobs, patience_s, progress)
        for job in jobs:
            places[job.checkup.partition] = _seen(job.checkup) if job.ended else _late(job, patience_s)
    return [places[name] for name in partitions]


def _wait(jobs: list[_Submitted], patience_s: float, progress: Progress) -> None:
    """Until all have ended, or what has not started by now need not start, or what runs is overdue."""
    start = time.monotonic()
    while True:
        _ask([job for job in jobs if not job.ended])
        progress("; ".join(job.in_words() for job in jobs), "")
        waited_s = time.monotonic() - start
        overdue = waited_s > patience_s + walltime_s(LIMIT) + OVERDUE_S
        if overdue or all(job.ended or (not job.started and waited_s > patience_s) for job in jobs):
            return
        time.sleep(POLL_S)


def _ask(jobs: list[_Submitted]) -> None:
    """Where these jobs are, by one question for all."""
    if not jobs:
        return
    ids = ",".join(job.slurm_id for job in jobs)
    try:
        lines = output_of(["squeue", "--noheader", "--states=all", f"--jobs={ids}", "--format=%i|%T|%r|%N"])
    except UserError as error:
        if "Invalid job id" not in error.what:  # Slurm has forgotten it; anything else may pass
            return
        lines = []
    told = {slurm_id: rest for slurm_id, *rest in (line.split("|", 3) for line in lines)}
    for job in jobs:
        state, reason, job.host = told.get(job.slurm_id, ("COMPLETED", "", ""))
        job.ended = states.outcome_of(state) is not None
        job.started = job.started or states.phase_of(state) == states.RUNNING
        job.reason = states.in_words(reason)


def _sbatch(script: Path) -> str:
    """Submit a script; return the id. Raises UserError with sbatch's own words."""
    lines = output_of(["sbatch", "--parsable", str(script)])
    slurm_id = (lines or [""])[-1].partition(";")[0]  # `123;cluster`; sites print greetings before it
    if not slurm_id.isdigit():
        raise UserError(f"sbatch answered {' '.join(lines)!r}, which has no job id")
    return slurm_id


@contextmanager
def _cancelled_at_the_end(jobs: list[_Submitted]) -> Iterator[None]:
    """Nothing of ours stays in the queue, however this ends."""
    try:
        yield
    finally:
        for job in jobs:
            if not job.ended:
                with contextlib.suppress(UserError):
                    output_of(["scancel", job.slurm_id])


def _seen(checkup: Checkup) -> Place:
    """Its findings, as soon as they are seen here: file systems that nodes share may be late."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        place = checkup.read()
        complete = NODE not in place.groups and (checkup.wanted.peaks_by is None or place.peaks is not None)
        if complete or time.monotonic() > deadline:
            return place
        time.sleep(POLL_S)


def _late(job: _Submitted, patience_s: float) -> Place:
    place = of_partition(job.checkup.partition)
    if job.started:
        what = f"it did not end in time on {job.host}, and is cancelled"
    else:
        what = f"it did not start in {patience_s:.0f} s, and is cancelled" + (f": {job.reason}" if job.reason else "")
    means = "Nothing is known of the nodes of this partition."
    place.add(
        NODE, [Finding("job", WARNING, what, means, "Wait longer (--wait SECONDS), or look again at a quieter time.")]
    )
    return place


def _refused(partition: str, error: UserError) -> Place:
    place = of_partition(partition)
    means = "A sweep on this partition is refused in the same way."
    mend = "Correct `slurm:` and `partitions:` in the site file, or ask why; --partition leaves others out."
    place.add(NODE, [Finding("job", PROBLEM, " ".join(error.what.split()), means, mend)])
    return place
