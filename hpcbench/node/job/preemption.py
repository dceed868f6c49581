"""Query slurmctld whether it preempts this job. hpcbench does so only if signals and logs do not show it."""

import re
import subprocess
from typing import Mapping

TIMEOUT_S = 10
_PREEMPTED = re.compile(r"\bPreemptTime=\d")  # in `scontrol show job`; None or Unknown if it is not preempted


def is_preempted(environment: Mapping[str, str]) -> bool:
    """Return whether Slurm preempts the job; False if this is unknown."""
    job = environment.get("SLURM_JOB_ID")
    if job is None:
        return False
    try:
        command = ["scontrol", "--oneliner", "show", "job", job]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=TIMEOUT_S)
    except (OSError, subprocess.SubprocessError):
        return False
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    # For the job whose ID is that of its array, scontrol prints a line for each job of the array.
    return any(_PREEMPTED.search(line) for line in lines if line.startswith("JobId=%s " % job))
