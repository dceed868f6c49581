"""Whether this machine has what a case asks for, where the local launcher starts it."""

import os
from typing import Optional

from .hardware import usable_cpus
from .planned import PlannedRun


def what_is_missing(planned: PlannedRun) -> Optional[str]:
    """In words; None where nothing is. Slurm gives what is asked for or refuses it: there, nothing is."""
    if "HPCBENCH_RANK" not in os.environ:
        return None
    if planned.parameters["nodes"] > 1:
        return "the case asks for %d nodes, and this machine is one" % planned.parameters["nodes"]
    if "HPCBENCH_CPUS" not in os.environ:
        asked, usable = planned.tasks * planned.parameters["cpus_per_task"], len(usable_cpus())
        return "the case asks for %d CPUs, and this machine has %d" % (asked, usable)
    return None
