"""Simultaneous multithreading: whether usable CPUs share cores."""

from typing import List

from ...core import ranges
from ...core.check_result import NOTE, OK, CheckResult
from ..host.sysfs import System, counted
from ..host.topology import core_of


def check(system: System) -> List[CheckResult]:
    """Return whether usable CPUs share cores."""
    cores = {core_of(system, cpu) for cpu in system.cpus}
    threads = max(len(ranges.expand(core)) for core in cores)
    ours = "%s on %s" % (counted(len(system.cpus), "usable CPU"), counted(len(cores), "core"))
    if threads == 1:
        return [CheckResult("SMT", OK, "off or none: %s" % ours)]
    if len(cores) == len(system.cpus):
        return [CheckResult("SMT", OK, "on, but no two usable CPUs share a core: %s" % ours)]
    means = "Hardware threads share the units of their core: two are much less than twice as fast as one."
    remedy = "Use one thread per core, or set slurm: {hint: nomultithread} in the site file."
    return [CheckResult("SMT", NOTE, "on, %d CPUs per core: %s" % (threads, ours), means, remedy)]
