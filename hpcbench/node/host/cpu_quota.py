"""The CPU time that the cgroups of this process allow."""

import os
from typing import List, NamedTuple, Optional

from . import cgroups
from .sysfs import System


class Quota(NamedTuple):
    """A quota in CPUs, and the number of periods in which it was used up since the group was created."""

    cpus: float
    folder: str
    throttled: Optional[int]


def tightest(system: System) -> Optional[Quota]:
    """Return the smallest quota of our cgroup and the enclosing ones; None without a quota."""
    quotas = filter(None, (_quota(system, folder) for folder in folders(system, "cpu")))
    return min(quotas, key=lambda quota: quota.cpus, default=None)


def folders(system: System, controller: str) -> List[str]:
    """Return the folders of our cgroup of `controller` and of the enclosing ones, relative to the root."""
    found = cgroups.folders(system.lines("proc/self/cgroup"), controller, system.root)
    return [os.path.relpath(folder, system.root) for folder in found]


def _quota(system: System, folder: str) -> Optional[Quota]:
    fields = (system.text(folder + "/cpu.max") or "").split()
    if not fields:
        fields = [system.text(folder + "/cpu.cfs_%s_us" % name) or "" for name in ("quota", "period")]
    try:
        quota_us, period_us = (int(number) for number in fields)
    except ValueError:  # `max 100000`: no quota
        return None
    if quota_us < 0 or period_us <= 0:  # -1: no quota
        return None
    return Quota(quota_us / period_us, folder, _throttled(system, folder))


def _throttled(system: System, folder: str) -> Optional[int]:
    return cgroups.values((system.text(folder + "/cpu.stat") or "").encode()).get("nr_throttled")
