"""The small job that submits what did not fit into the queue: it waits until there is room, and calls resume.

So a sweep goes on while nobody is logged in, and no process of hpcbench stays alive for it.
"""

from __future__ import annotations

import os

from submitit.core.utils import FailedJobError, FailedSubmissionError

from hpcbench.config.site import Site
from hpcbench.config.slurm_options import SlurmOptions, time_text
from hpcbench.core.files import no_link
from hpcbench.errors import UserError
from hpcbench.slurm.client import answer
from hpcbench.slurm.queue import FOLLOW_ON, Element, Queue
from hpcbench.slurm.submit_limits import is_full
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import SweepPaths, Workspace
from hpcbench.submit.script import checked, named_options
from hpcbench.submit.slurm_executor import ScriptExecutor, without_submitits_words, words_of
from hpcbench.submit.template import OF_FOLLOW_ON, script_of_hpcbench
from hpcbench.util.locking.lease import Lease

_MOST_S = 1800  # of wall time: it tries for a quarter of an hour
LAST = 3  # elements: whichever ends first, so that one that somebody holds does not hold up the rest
FEWEST_PLACES = 3  # under a limit: for a job of the sweep, the one that follows on, and its follower

# When it starts, as options of sbatch.
AT_ONCE: list[str] = []
LATER = ["--begin=now+10minutes"]  # where the queue is full of other jobs only


def after(elements: list[Element]) -> list[str]:
    """When any of these has ended."""
    return [f"--dependency={'?'.join(f'afterany:{array}_{index}' for array, index in elements)}"]


def waiting(queue: Queue) -> list[str]:
    """The ids of a sweep's follow-on jobs that will start, but for the one that this process runs in."""
    return [job for job, never in queue.follow_on.items() if not never and job != _own_id()]


def _own_id() -> str | None:
    return os.environ.get("SLURM_JOB_ID")


def submit(
    sweep: Sweep, workspace: Workspace, slurm: SlurmOptions, start: list[str], queue: Queue, lease: Lease
) -> str:
    """Submit one with this start; return its id.

    Where other jobs have left no place for it, the one that this process runs in is requeued: it looks again later.

    Raises UserError, with sbatch's own words, where it says no.
    """
    paths = sweep.paths
    script = paths.jobs / f"{FOLLOW_ON}.sh"
    content = render(workspace, paths, slurm, sweep.site)
    with open(script, "w", encoding="utf-8", opener=no_link) as file:
        file.write(content)
    folder = paths.logs(FOLLOW_ON)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with without_submitits_words():
            return ScriptExecutor(script, folder, start, []).submit_script(lease)
    except (FailedJobError, FailedSubmissionError) as error:
        own, words = _own_id(), words_of(error)
        if own is not None and own in queue.follow_on and is_full(words):
            answer(["scontrol", "requeue", own])
            return own
        raise UserError(
            f"sbatch refused the job that submits the rest: {words}",
            where=str(script),
            hint=f"when others have ended: hpcbench resume {paths.name} --missing",
        ) from error


def render(workspace: Workspace, paths: SweepPaths, slurm: SlurmOptions, site: Site) -> str:
    """Its script. Raises UserError where the template cannot be rendered."""
    time_s = min(_MOST_S, site.max_time_s(slurm.partition) or _MOST_S)
    options = [
        f"job-name={paths.name}.{FOLLOW_ON}",
        f"output={paths.logs(FOLLOW_ON) / '%j_0_log.out'}",
        *("nodes=1", "ntasks=1", "cpus-per-task=1", f"time={time_text(time_s)}", "requeue"),
        *named_options(slurm, ("partition", "account", "qos", "reservation")),
    ]
    return script_of_hpcbench(OF_FOLLOW_ON, paths, checked(options), workspace)
