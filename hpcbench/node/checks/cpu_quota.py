"""What our control groups let us have of the CPUs: a set of them, and a quota of their time.

Version 1: cpu.cfs_quota_us in each cpu.cfs_period_us (Documentation/scheduler/sched-bwc.rst); version 2: cpu.max
(Documentation/admin-guide/cgroup-v2.rst). A group is bound by the quotas of all that it lies in, too.
"""

import os
from typing import List, NamedTuple, Optional

from ...core.finding import OK, PROBLEM, WARNING, Finding
from ..host import cgroups
from ..host.sysfs import System, counted, listed, numbered


class Quota(NamedTuple):
    """CPUs' worth of time, and in how many periods it was used up before their end, since the group was made."""

    cpus: float
    folder: str
    throttled: Optional[int]


def look(system: System) -> List[Finding]:
    return [_set_of_cpus(system), _of_time(tightest(system), len(system.cpus))]


def tightest(system: System) -> Optional[Quota]:
    """The smallest quota of our group and of those that it lies in; None where none of them has one."""
    quotas = filter(None, (_quota(system, folder) for folder in _folders(system, "cpu")))
    return min(quotas, key=lambda quota: quota.cpus, default=None)


def _folders(system: System, controller: str) -> List[str]:
    found = cgroups.folders(system.lines("proc/self/cgroup"), controller, system.root)
    return [os.path.relpath(folder, system.root) for folder in found]


def _quota(system: System, folder: str) -> Optional[Quota]:
    told = (system.text(folder + "/cpu.max") or "").split()
    if not told:
        told = [system.text(folder + "/cpu.cfs_%s_us" % name) or "" for name in ("quota", "period")]
    try:
        quota_us, period_us = (int(number) for number in told)
    except ValueError:  # `max 100000` is none
        return None
    if quota_us < 0 or period_us <= 0:  # so is -1
        return None
    return Quota(quota_us / period_us, folder, _throttled(system, folder))


def _throttled(system: System, folder: str) -> Optional[int]:
    return cgroups.values((system.text(folder + "/cpu.stat") or "").encode()).get("nr_throttled")


def _set_of_cpus(system: System) -> Finding:
    online = numbered(system.text("sys/devices/system/cpu/online") or listed(system.cpus))
    found = "%d of %s usable" % (len(system.cpus), counted(len(online), "CPU"))
    ours = set(system.cpus)
    for folder in _folders(system, "cpuset"):
        allowed = _allowed(system, folder)
        if allowed and not ours & set(allowed):
            means = "The kernel runs this on other CPUs than its binding says."
            mend = "Ask those who run the launcher: binding and control group contradict each other."
            return Finding("CPU set", PROBLEM, "%s, and none of them in the control group's set" % found, means, mend)
    return Finding("CPU set", OK, found if len(ours) == len(online) else "%s: %s" % (found, listed(system.cpus)))


def _allowed(system: System, folder: str) -> List[int]:
    names = ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus")
    return numbered(next(filter(None, (system.text("%s/%s" % (folder, name)) for name in names)), ""))


def _of_time(quota: Optional[Quota], cpus: int) -> Finding:
    if quota is None:
        return Finding("CPU quota", OK, "none")
    found = "%.3g CPUs' worth of time (/%s)" % (quota.cpus, quota.folder)
    if quota.throttled:
        found += ", used up in %d periods so far" % quota.throttled
    if quota.cpus >= cpus:
        return Finding("CPU quota", OK, found)
    means = "Work on all %d usable CPUs is stopped when that is used up: some steps are much slower." % cpus
    mend = (
        "Ask for whole CPUs (cpus_per_task, or the container's --cpuset-cpus instead of --cpus), or use fewer threads."
    )
    return Finding("CPU quota", WARNING, found, means, mend)
