"""Submit the job of a search: one allocation in which hpcbench runs one configuration after another."""

from __future__ import annotations

from dataclasses import replace

from hpcbench.config.slurm_options import time_text
from hpcbench.core.files import no_link
from hpcbench.errors import UserError
from hpcbench.plan.packing import Job
from hpcbench.plan.plan import Plan
from hpcbench.slurm.queue import SEARCH
from hpcbench.store.journal import Journal
from hpcbench.store.sweep import Sweep
from hpcbench.store.workspace import SweepPaths, Workspace
from hpcbench.submit.script import LOG, checked, resource_options
from hpcbench.submit.slurm_executor import Array, submit
from hpcbench.submit.template import OF_SEARCH, script_of_hpcbench
from hpcbench.util.locking.lease import Lease


def submit_search(
    sweep: Sweep, plan: Plan, measurements: int, workspace: Workspace, journal: Journal, lease: Lease
) -> str:
    """Submit the job of a search with at most `measurements` measurements; return its id.

    Raise UserError, with the message of sbatch, if sbatch refuses it, or if the script cannot be written.
    """
    content = render(plan, measurements, sweep.paths, workspace)
    try:
        sweep.paths.logs(SEARCH).mkdir(parents=True, exist_ok=True)  # for a bare sbatch
        with open(sweep.paths.script(SEARCH), "w", encoding="utf-8", opener=no_link) as file:
            file.write(content)
    except OSError as error:
        raise UserError(
            f"the script cannot be written: {error.strerror}", where=str(sweep.paths.script(SEARCH))
        ) from error
    return submit(sweep, Array(SEARCH, ((),)), journal, lease)


def render(plan: Plan, measurements: int, paths: SweepPaths, workspace: Workspace) -> str:
    """Return the script of the job. Raise UserError if the template cannot be rendered."""
    options = [
        f"job-name={paths.name}.{SEARCH}",
        "array=0-0",
        f"output={paths.logs(SEARCH) / LOG}",
        "open-mode=append",
        "requeue",
        *resource_options(plan.jobs[0].resources, _time(plan, measurements)),
    ]
    return script_of_hpcbench(OF_SEARCH, paths, checked(options), workspace)


def job_of(plan: Plan, measurements: int) -> Job:
    """Return the search as a job of a plan: its nodes for its time limit, whatever the number of runs."""
    first = plan.jobs[0]
    slurm = first.resources.slurm.model_copy(update={"time": _time(plan, measurements)})
    return Job(SEARCH, replace(first.resources, slurm=slurm), (first.runs[:1],))


def _time(plan: Plan, measurements: int) -> str:
    """Return `slurm.pack_walltime`, or the time limit of all measurements within that of the partition."""
    resources = plan.jobs[0].resources
    if resources.slurm.pack_walltime:
        return resources.slurm.pack_walltime
    wanted_s = measurements * resources.limit_s
    return time_text(min(wanted_s, plan.site.max_time_s(resources.slurm.partition) or wanted_s))
