"""Check the machine that hpcbench runs on, and restore its clocks."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hpcbench.config.site import Site
from hpcbench.core.check_result import HARDWARE, NOTE, CheckResult, Progress
from hpcbench.doctor.checked_host import CheckedHost, describe_machine
from hpcbench.doctor.checkup_job import CheckupOptions
from hpcbench.node.checks.peaks import measure_peaks
from hpcbench.node.checks.run_checks import run as run_checks
from hpcbench.node.clocks import leftovers
from hpcbench.node.host import gpus, hardware
from hpcbench.node.host.sysfs import this_system
from hpcbench.slurm.cluster_query import Cluster


def check_this_machine(site: Site, cluster: Cluster | None, options: CheckupOptions, progress: Progress) -> CheckedHost:
    """Return the results of the checks on this machine.

    With `options.peaks_by`, measure its peak performance, too, unless it is a login node, which has other users.
    """
    job = os.environ.get("SLURM_JOB_ID")
    login = cluster is not None and job is None
    title = "this machine (login node)" if login else f"this node, in job {job}" if job else "this machine"
    host = CheckedHost("this machine", title, describe_machine(hardware.describe()))
    if login:
        means = "Cases of this site run on other machines: these results apply to builds and tests on this machine."
        action = "`hpcbench doctor --on-node` checks a node of each partition."
        host.add("this machine", [CheckResult("login node", NOTE, "jobs run on other machines", means, action)])
    for group, result in run_checks(this_system(), options.seconds, progress):
        host.add(group, [result])
    if options.peaks_by is not None and (site.scheduler == "local" or job):
        host.peaks, results = measure_peaks(this_system(), [sys.executable, *options.peaks_by], progress)
        host.add(HARDWARE, results)
    return host


class ThisMachine(NamedTuple):
    """The models of the processors of this machine, as `MachinePeaks` have them; `gpu_model` is of the first GPU."""

    cpu_model: str
    cpu_count: int
    gpu_model: str | None


def this_machine() -> ThisMachine:
    """Return the models of this machine's processors. Open no GPU."""
    node = hardware.describe()
    return ThisMachine(node["cpu_model"], node["cpu_count"], gpus.name(0) if gpus.count() else None)


@dataclass(frozen=True)
class RestoredClocks:
    """The clocks of this machine that profiles of a workspace had changed, and the nodes that have others."""

    node: str
    restored: int
    failures: tuple[str, ...]  # a sentence for each clock that could not be restored
    in_use: int  # of profiles that still run
    other_nodes: tuple[str, ...]


def restore_clocks(workspace: Path) -> RestoredClocks:
    """Restore the clocks of this machine that killed profiles of a workspace have left changed."""
    folder = Path(leftovers.folder_of(str(workspace)))
    before = len(leftovers.notes(str(folder)))
    failures = leftovers.restore_left(str(folder), this_system().root)
    left = len(leftovers.notes(str(folder)))
    others = sorted(each.name for each in folder.parent.glob("*") if each != folder and leftovers.notes(str(each)))
    in_use = max(0, left - len(failures))
    return RestoredClocks(folder.name, max(0, before - left), tuple(failures), in_use, tuple(others))
