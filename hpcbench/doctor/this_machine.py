"""What `hpcbench doctor` finds on the machine that it runs on."""

from __future__ import annotations

import os
import sys

from hpcbench.config.site import Site
from hpcbench.core.finding import HARDWARE, NOTE, Finding, Progress
from hpcbench.doctor.checked_place import Place, machine_in_words
from hpcbench.doctor.checkup_job import Wanted
from hpcbench.doctor.cluster import Cluster
from hpcbench.node.checks.peaks import measure_peaks
from hpcbench.node.checks.run_checks import run as run_checks
from hpcbench.node.host import hardware
from hpcbench.node.host.sysfs import this_system


def this_machine(site: Site, cluster: Cluster | None, wanted: Wanted, progress: Progress) -> Place:
    """Check this machine and, if `wanted` says so, measure its peak performance; not on a login node."""
    job = os.environ.get("SLURM_JOB_ID")
    login = cluster is not None and job is None
    title = "this machine, where you are logged in" if login else f"this node, in job {job}" if job else "this machine"
    place = Place("this machine", title, machine_in_words(hardware.describe()))
    if login:
        means = "Cases of this site run elsewhere: what is said here holds for what you build and try here."
        mend = "hpcbench doctor --on-node looks at a node of each partition."
        place.add("this machine", [Finding("login node", NOTE, "jobs run on other machines", means, mend)])
    for group, finding in run_checks(this_system(), wanted.seconds, progress):
        place.add(group, [finding])
    if wanted.peaks_by is not None and (site.scheduler == "local" or job):  # not where others are logged in
        place.peaks, found = measure_peaks(this_system(), [sys.executable, *wanted.peaks_by], progress)
        place.add(HARDWARE, found)
    return place
