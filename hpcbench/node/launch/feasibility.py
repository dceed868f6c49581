"""Check that this machine has the libraries and CPUs for a case and, with the local launcher, the nodes and GPUs."""

import math
import os
from typing import Optional

from ...core import ranges
from ...core.frameworks import THREAD_COUNTS
from ...core.run_spec import COMMAND, PlannedRun
from ..host import gpus
from ..host.cpu_quota import tightest
from ..host.hardware import usable_cpus
from ..host.sysfs import System, counted, this_system
from . import allocator, preload


def what_is_missing(planned: PlannedRun) -> Optional[str]:
    """Return what this machine lacks for the case, as a message; None if nothing."""
    return (
        _of_the_machine(planned)
        or room_for_threads(planned, this_system())
        or preload.missing(planned.parameters, os.environ)
        or allocator.missing(planned.parameters)
    )


def _of_the_machine(planned: PlannedRun) -> Optional[str]:
    """Return which nodes, GPUs or CPUs the local launcher lacks; None under srun, because Slurm has allocated them."""
    if "HPCBENCH_RANK" not in os.environ:
        return None
    if planned.parameters["nodes"] > 1:
        return "the case requests %d nodes, but this is a single machine" % planned.parameters["nodes"]
    too_few_gpus = _too_few_gpus(planned, this_system())
    if too_few_gpus:
        return too_few_gpus
    if "HPCBENCH_CPUS" not in os.environ:
        asked, usable = planned.tasks * planned.parameters["cpus_per_task"], len(usable_cpus())
        message = "the case requests %d CPUs, but may use %s of this machine" % (asked, counted(usable, "CPU"))
        each = usable // planned.tasks
        if not each:
            return message
        threads = [name for name in THREAD_COUNTS if (planned.parameters[name] or 0) > each]
        return "%s: request fewer (%s)" % (
            message,
            " ".join("--set %s=%d" % (name, each) for name in ("cpus_per_task", *threads)),
        )
    return None


def _too_few_gpus(planned: PlannedRun, system: System) -> Optional[str]:
    """Return why the GPUs do not suffice for a command; None if they do. The adapters of frameworks check their own.

    The number of AMD's and Intel's GPUs is unknown if only the environment of the command has their libraries.
    """
    asked = planned.tasks * planned.parameters["gpus_per_task"]
    if not asked or planned.parameters["framework"] != COMMAND:
        return None
    found = gpus.count()
    is_unknown = not found and (system.matching("dev/kfd") or system.matching("dev/dri/renderD*"))
    if found >= asked or is_unknown:
        return None
    has = "this machine has %d" % found if found else "no GPU was found on this machine"
    return "the case requests %s, but %s" % (counted(asked, "GPU"), has)


def room_for_threads(planned: PlannedRun, system: System) -> Optional[str]:
    """Return why the CPUs do not suffice for the threads of a case; None if they do, or if it may oversubscribe.

    A CPU quota applies to all instances together, rounded up to whole CPUs.
    """
    parameters = planned.parameters
    if parameters["oversubscribe"]:
        return None
    for name in THREAD_COUNTS:
        threads = parameters[name] or 0
        if threads > len(system.cpus):
            usable = (counted(len(system.cpus), "CPU"), ranges.compact(system.cpus))
            return _refused(name, threads, "may use %s (%s)" % usable)
        over = _over_quota(name, threads * planned.instances, system)
        if over:
            return over
    return None


def _over_quota(name: str, threads: int, system: System) -> Optional[str]:
    """Return why the CPU quota does not suffice for so many threads; None if it does."""
    quota = tightest(system)
    if quota is None or threads <= math.ceil(quota.cpus):
        return None
    limit = "has a quota of %.3g CPUs (cgroup /%s)" % (quota.cpus, quota.folder)
    return _refused(name, threads, limit)


def _refused(name: str, threads: int, limit: str) -> str:
    return "%s: %s, and this process %s; `oversubscribe: true` allows it" % (name, counted(threads, "thread"), limit)
