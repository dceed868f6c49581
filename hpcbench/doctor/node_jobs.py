"""Check the nodes of a cluster: submit one small job per partition, and wait for the jobs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hpcbench.config.site import Partition, Site
from hpcbench.config.slurm_options import walltime_s
from hpcbench.core.check_result import PROBLEM, WARNING, CheckResult, Progress
from hpcbench.doctor.checked_host import CheckedHost, partition_host
from hpcbench.doctor.checkup_job import LIMIT, NODE, Checkup, CheckupOptions, resources_for
from hpcbench.errors import UserError
from hpcbench.slurm import states
from hpcbench.slurm.client import output_of, quoted
from hpcbench.slurm.job_id import job_id_in
from hpcbench.slurm.job_lookup import look_up
from hpcbench.store.workspace import Workspace
from hpcbench.submit.zipapp import node_zipapp

POLL_S = 2.0
OVERDUE_S = 60.0  # allowed beyond the time limit of a job
SETTLE_S = 10.0  # until files from another node are visible here


@dataclass
class _Submitted:
    """A job in the queue."""

    checkup: Checkup
    slurm_id: str
    cluster: str | None = None
    started: bool = False
    ended: bool = False
    reason: str = ""
    host: str = ""

    def in_words(self) -> str:
        phase = "done" if self.ended else f"running on {self.host}" if self.started else "waiting"
        return f"{self.checkup.partition}: {phase}" + (f", {self.reason}" if phase == "waiting" and self.reason else "")


def check_nodes(
    workspace: Workspace,
    site: Site,
    partitions: Mapping[str, Partition],
    folder: Path,
    options: CheckupOptions,
    timeout_s: float,
    progress: Progress,
) -> list[CheckedHost]:
    """Return the results of a job on each of these partitions. Cancel jobs that have not started after `timeout_s`.

    The nodes must see `folder`. Raise UserError if the workspace's template cannot be used.
    """
    (folder / "node.pyz").write_bytes(node_zipapp())
    hosts: dict[str, CheckedHost] = {}
    jobs: list[_Submitted] = []
    with _cancelled_at_the_end(jobs):
        for number, (name, partition) in enumerate(partitions.items()):
            resources = resources_for(site, name, partition, options.whole_node)
            checkup = Checkup(name, folder, number, resources, options)
            checkup.write(workspace, site)
            try:
                jobs.append(_Submitted(checkup, _sbatch(checkup.script, site.cluster), site.cluster))
            except UserError as error:
                hosts[name] = _refused(name, error)
        _wait(jobs, timeout_s, progress)
        for job in jobs:
            hosts[job.checkup.partition] = _read(job.checkup) if job.ended else _late(job, timeout_s)
    return [hosts[name] for name in partitions]


def _wait(jobs: list[_Submitted], timeout_s: float, progress: Progress) -> None:
    """Wait until all jobs have ended, have not started in time, or are overdue."""
    start = time.monotonic()
    while True:
        for job in jobs:
            _update(job)
        progress("; ".join(job.in_words() for job in jobs), "")
        waited_s = time.monotonic() - start
        overdue = waited_s > timeout_s + walltime_s(LIMIT) + OVERDUE_S
        if overdue or all(job.ended or (not job.started and waited_s > timeout_s) for job in jobs):
            return
        time.sleep(POLL_S)


def _update(job: _Submitted) -> None:
    """Update the state of a job. Leave it unchanged if Slurm does not respond: the next query may succeed."""
    if job.ended:
        return
    answer = look_up(job.slurm_id, job.cluster)
    if answer.entry is not None:
        job.ended, job.host, job.reason = answer.entry.ended, answer.entry.nodes, answer.entry.why_pending
        job.started = job.started or states.phase_of(answer.entry.state) == states.RUNNING
    elif answer.is_unknown:  # slurmctld has removed the job
        job.ended = True


def _sbatch(script: Path, cluster: str | None) -> str:
    """Submit a script; return the ID. Raise UserError with the message of sbatch."""
    lines = output_of(["sbatch", "--parsable", str(script)], cluster)
    slurm_id = job_id_in("\n".join(lines))
    if slurm_id is None:
        raise UserError(f"no clear job ID in the output of sbatch: {quoted(lines)!r}")
    return slurm_id


@contextmanager
def _cancelled_at_the_end(jobs: list[_Submitted]) -> Iterator[None]:
    """Cancel all jobs that have not ended, even after an exception."""
    try:
        yield
    finally:
        for job in jobs:
            if not job.ended:
                with contextlib.suppress(UserError):
                    output_of(["scancel", job.slurm_id], job.cluster)


def _read(checkup: Checkup) -> CheckedHost:
    """Return the results of a job as soon as they are visible: shared file systems may delay them."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        host = checkup.read()
        complete = NODE not in host.groups and (checkup.options.peaks_by is None or host.peaks is not None)
        if complete or time.monotonic() > deadline:
            return host
        time.sleep(POLL_S)


def _late(job: _Submitted, timeout_s: float) -> CheckedHost:
    host = partition_host(job.checkup.partition)
    if job.started:
        found = f"the job on {job.host} exceeded its time limit; cancelled"
    else:
        found = f"the job did not start in {timeout_s:.0f} s; cancelled" + (f": {job.reason}" if job.reason else "")
    means = "The state of the nodes of this partition is unknown."
    action = "Wait longer (--wait SECONDS), or try again when the cluster is less busy."
    host.add(NODE, [CheckResult("job", WARNING, found, means, action)])
    return host


def _refused(partition: str, error: UserError) -> CheckedHost:
    host = partition_host(partition)
    means = "Slurm refuses sweeps on this partition in the same way."
    action = "Correct `slurm:` and `partitions:` in the site file, or choose other partitions with --partition."
    host.add(NODE, [CheckResult("job", PROBLEM, " ".join(error.what.split()), means, action)])
    return host
