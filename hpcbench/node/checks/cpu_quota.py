"""The CPUs and the CPU time that the cgroups of this process allow.

Version 1: cpu.cfs_quota_us in each cpu.cfs_period_us (Documentation/scheduler/sched-bwc.rst); version 2: cpu.max
(Documentation/admin-guide/cgroup-v2.rst). The quotas of all enclosing groups apply, too.
"""

from typing import List, Optional, Tuple

from ...core import ranges
from ...core.check_result import OK, PROBLEM, WARNING, CheckResult
from ..host.cpu_quota import Quota, folders, tightest
from ..host.sysfs import System, counted


def check(system: System) -> List[CheckResult]:
    """Return whether cgroups limit the set of CPUs, or the CPU time."""
    return [_set_of_cpus(system), _of_time(tightest(system), len(system.cpus))]


def _set_of_cpus(system: System) -> CheckResult:
    online = ranges.expand(system.text("sys/devices/system/cpu/online") or ranges.compact(system.cpus))
    found = "%d of %s usable" % (len(system.cpus), counted(len(online), "CPU"))
    ours = set(system.cpus)
    for folder in folders(system, "cpuset"):
        allowed = _allowed(system, folder)
        if allowed and not ours & set(allowed):
            means = "The CPU binding has no effect: the kernel runs processes on other CPUs."
            remedy = "Report to the administrators that the CPU binding contradicts the cgroup's cpuset."
            return CheckResult("CPU set", PROBLEM, "%s, none of which is in the cgroup's cpuset" % found, means, remedy)
    if len(ours) < len(online):
        found += ": " + ranges.compact(ours)
    return CheckResult("CPU set", OK, found)


def _allowed(system: System, folder: str) -> Tuple[int, ...]:
    names = ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus")
    return ranges.expand(next(filter(None, (system.text("%s/%s" % (folder, name)) for name in names)), ""))


def _of_time(quota: Optional[Quota], cpus: int) -> CheckResult:
    if quota is None:
        return CheckResult("CPU quota", OK, "none")
    found = "%.3g CPUs' worth of time (/%s)" % (quota.cpus, quota.folder)
    if quota.throttled:
        found += ", throttled in %d periods so far" % quota.throttled
    if quota.cpus >= cpus:
        return CheckResult("CPU quota", OK, found)
    means = "Threads on all %d usable CPUs are throttled when the quota is used up: some steps are much slower." % cpus
    remedy = (
        "Request whole CPUs (cpus_per_task, or the container's --cpuset-cpus instead of --cpus), or use fewer threads."
    )
    return CheckResult("CPU quota", WARNING, found, means, remedy)
