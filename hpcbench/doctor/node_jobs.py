"""Check the nodes of a cluster: submit one small job per partition, and wait for the jobs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from hpcbench.config.site import Partition, Site, variable_of
from hpcbench.config.slurm_options import walltime_s
from hpcbench.core.check_result import PROBLEM, WARNING, CheckResult, Progress
from hpcbench.doctor.checked_host import CheckedHost, partition_host
from hpcbench.doctor.checkup_job import LIMIT, NODE, Checkup, CheckupOptions, resources_for
from hpcbench.doctor.small_jobs import POLL_S, SmallJob, run_jobs
from hpcbench.store.workspace import Workspace
from hpcbench.submit.zipapp import node_zipapp

SETTLE_S = 10.0  # until files from another node are visible here


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
    checkups = []
    for number, (name, partition) in enumerate(partitions.items()):
        checkup = Checkup(name, folder, number, resources_for(site, name, partition, options.whole_node), options)
        checkup.write(workspace, site)
        checkups.append(checkup)
    jobs = [SmallJob(each.partition, each.script, walltime_s(LIMIT), site.cluster) for each in checkups]
    run_jobs(jobs, timeout_s, progress)
    return [_host(checkup, job, site, timeout_s) for checkup, job in zip(checkups, jobs, strict=True)]


def how_to_correct(site: Site) -> str:
    """Return what the user can do if sbatch refuses a small job, beginning with the variables of the shell."""
    variables = [variable_of(option) for option in site.shell_defaults if option != "partition"]
    site_file = "`slurm:` and `partitions:` in the site file, or choose other partitions with --partition."
    if not variables:
        return f"Correct {site_file}"
    in_shell = f"In the shell: unset or correct {', '.join(variables)}."
    return f"{in_shell} If sbatch still refuses the job, correct {site_file}"


def _host(checkup: Checkup, job: SmallJob, site: Site, timeout_s: float) -> CheckedHost:
    """Return the results of a job, or why there are none."""
    if job.ended:
        return _read(checkup)
    host = partition_host(checkup.partition)
    host.add(NODE, [_refused(job, site) if job.refused else _late(job, timeout_s)])
    return host


def _read(checkup: Checkup) -> CheckedHost:
    """Return the results of a job as soon as they are visible: shared file systems may delay them."""
    deadline = time.monotonic() + SETTLE_S
    while True:
        host = checkup.read()
        complete = NODE not in host.groups and (checkup.options.peaks_by is None or host.peaks is not None)
        if complete or time.monotonic() > deadline:
            return host
        time.sleep(POLL_S)


def _late(job: SmallJob, timeout_s: float) -> CheckResult:
    means = "The state of the nodes of this partition is unknown."
    action = "Wait longer (--timeout SECONDS), or try again when the cluster is less busy."
    return CheckResult("job", WARNING, job.why_late(timeout_s), means, action)


def _refused(job: SmallJob, site: Site) -> CheckResult:
    means = "Slurm refuses sweeps on this partition in the same way."
    return CheckResult("job", PROBLEM, job.refused, means, how_to_correct(site))
