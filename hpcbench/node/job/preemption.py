"""Ask Slurm's controller whether it preempts this job; done only if nothing else can show it."""

import re
import subprocess
from typing import Mapping

TIMEOUT_S = 10
_PREEMPTED = re.compile(r"\bPreemptTime=\d")  # of `scontrol show job`; None or Unknown where it is not


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
    # The job whose number is that of its array gets a line for each job of the array.
    return any(_PREEMPTED.search(line) for line in lines if line.startswith("JobId=%s " % job))
