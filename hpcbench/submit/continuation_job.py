"""The continuation job: a small job that runs `hpcbench resume` when the queue has room for the rest of a sweep.

With it, a sweep continues without a login session and without a process of hpcbench that stays alive.
"""

from __future__ import annotations

import os

from submitit.core.utils import FailedJobError, FailedSubmissionError

from hpcbench.config.site import Site
from hpcbench.config.slurm_options import SlurmOptions, time_text
from hpcbench.core.files import no_link
from hpcbench.errors import UserError
from hpcbench.slurm.client import output_of
from hpcbench.slurm.job_entry import Element
from hpcbench.slurm.queue import FOLLOW_ON, Queue
from hpcbench.slurm.submit_limits import exceeded_limit
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import SweepPaths, Workspace
from hpcbench.submit.script import checked, named_options
from hpcbench.submit.slurm_executor import QueueFullError, ScriptExecutor, message_of
from hpcbench.submit.template import OF_FOLLOW_ON, script_of_hpcbench
from hpcbench.util.locking.lease import Lease

_MAX_S = 1800  # time limit: it tries for a quarter of an hour
_LATER = "--begin=now+10minutes"


def own_id(queue: Queue) -> str | None:
    """Return the id of the sweep's continuation job in which this process runs, or None."""
    job = os.environ.get("SLURM_JOB_ID")
    return job if job in queue.follow_on else None


def waiting(queue: Queue) -> list[str]:
    """Return the ids of a sweep's continuation jobs that will start, without the one of this process."""
    return [job for job, never in queue.follow_on.items() if not never and job != own_id(queue)]


def submit(sweep: Sweep, workspace: Workspace, slurm: SlurmOptions, lease: Lease) -> str:
    """Submit a continuation job that starts in ten minutes; return its id.

    Raise QueueFullError if there are too many jobs, and UserError, with the message of sbatch, if sbatch fails for
    another reason.
    """
    paths = sweep.paths
    script = paths.jobs / f"{FOLLOW_ON}.sh"
    content = render(workspace, paths, slurm, sweep.site)
    with open(script, "w", encoding="utf-8", opener=no_link) as file:
        file.write(content)
    folder = paths.logs(FOLLOW_ON)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        return ScriptExecutor(script, folder, [_LATER], [], sweep.other_cluster).submit_script(lease)
    except (FailedJobError, FailedSubmissionError) as error:
        message = message_of(error)
        if limit := exceeded_limit(message):
            raise QueueFullError("the continuation job", limit, paths) from error
        raise UserError(
            f"sbatch refused the continuation job: {message}",
            where=str(script),
            hint=f"when other jobs have ended, run: hpcbench resume {paths.name} --missing",
        ) from error


def start_after(job: str, elements: list[Element], cluster: str | None) -> None:
    """Let a pending continuation job start when any of these elements has ended, or now if there are none.

    Raise UserError if scontrol fails.
    """
    dependency = "?".join(f"afterany:{array}_{index}" for array, index in elements)
    output_of(["scontrol", "update", f"JobId={job}", f"Dependency={dependency}", "StartTime=now"], cluster)


def requeue(job: str, cluster: str | None) -> None:
    """Requeue the continuation job of this process: Slurm starts it again in a few minutes.

    Raise UserError if scontrol fails.
    """
    output_of(["scontrol", "requeue", job], cluster)


def render(workspace: Workspace, paths: SweepPaths, slurm: SlurmOptions, site: Site) -> str:
    """Return the script of a continuation job. Raise UserError if its template cannot be rendered."""
    time_s = min(_MAX_S, site.max_time_s(slurm.partition) or _MAX_S)
    options = [
        f"job-name={paths.name}.{FOLLOW_ON}",
        f"output={paths.logs(FOLLOW_ON) / '%j_0_log.out'}",
        *("nodes=1", "ntasks=1", "cpus-per-task=1", f"time={time_text(time_s)}", "requeue"),
        *named_options(slurm, ("partition", "account", "qos", "reservation")),
    ]
    return script_of_hpcbench(OF_FOLLOW_ON, paths, checked(options), workspace)
