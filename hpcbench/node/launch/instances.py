"""Instances: several processes that replace one task and share its CPUs. They are the ranks of the run."""

import os
from typing import List, Mapping

from ...core.frameworks import THREAD_COUNTS
from ...core.run_spec import PlannedRun


def bind(planned: PlannedRun, environment: Mapping[str, str]) -> None:
    """Restrict this process and its children to the CPUs from the local launcher, then to those of the case's affinity.

    srun binds tasks to their CPUs by itself.
    """
    given = environment.get("HPCBENCH_CPUS")
    if given:
        os.sched_setaffinity(0, [int(cpu) for cpu in given.split(",")])
    if planned.instances == 1 and planned.parameters["affinity"]:
        os.sched_setaffinity(0, _places(planned)[0])


def start(planned: PlannedRun, command: List[str]) -> int:
    """Run `command` once per instance, on CPUs of its own; return the first exit status that is not 0, otherwise 0."""
    lacking = (
        "HPCBENCH_RANK" in os.environ and "HPCBENCH_CPUS" not in os.environ
    )  # this machine is too small: see feasibility.py
    from .local_launcher import spawn_on

    return spawn_on([[]] * planned.instances if lacking else _places(planned), command)


def _places(planned: PlannedRun) -> List[List[int]]:
    from ..host import topology
    from ..host.sysfs import this_system
    from . import affinity

    intra_op, inter_op = (planned.parameters[name] for name in THREAD_COUNTS)
    threads = max(intra_op, inter_op or 0) if intra_op else None
    return affinity.places(topology.read(this_system()), planned.instances, threads, planned.parameters["affinity"])
