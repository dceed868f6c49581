"""The CPU quota of this process by its cgroups.

hpcbench.node.host.cpu_quota reads the same files in environments without torch, which cannot import this folder.
"""

import os
from typing import Dict, List, NamedTuple, Optional

_VERSION_1 = ("/cpu.cfs_quota_us", "/cpu.cfs_period_us")


class Quota(NamedTuple):
    """A CPU quota in CPUs, and the cgroup that has it."""

    cpus: float
    group: str


def tightest(root: str = "/") -> Optional[Quota]:
    """Return the smallest quota of the process's cgroup and its parents; None if none has one."""
    quotas = [_quota(group) for group in _groups(root)]
    return min((quota for quota in quotas if quota), key=lambda quota: quota.cpus, default=None)


def _groups(root: str) -> List[str]:
    """Return the folders of our cgroup and of its parents, the innermost first (cgroups(7))."""
    paths: Dict[str, str] = {}
    for line in _text(os.path.join(root, "proc/self/cgroup")).splitlines():
        _, names, path = (line.split(":", 2) + ["", ""])[:3]
        paths.update(dict.fromkeys(names.split(","), path))
    mounted = os.path.join(root, "sys/fs/cgroup")
    if "cpu" in paths:  # version 1
        base, path = os.path.join(mounted, "cpu"), paths["cpu"]
    else:
        unified = os.path.join(mounted, "unified")  # next to version 1
        base, path = unified if os.path.isdir(unified) else mounted, paths.get("", "/..")
    parts = path.strip("/").split("/")
    if ".." in parts:  # outside of the tree that a container shows
        return []
    return [os.path.join(base, *parts[:depth]) for depth in range(len(parts), -1, -1)]


def _quota(group: str) -> Optional[Quota]:
    fields = _text(group + "/cpu.max").split() or [_text(group + name) for name in _VERSION_1]
    try:
        quota_us, period_us = (int(number) for number in fields)
    except ValueError:  # `max 100000`: no quota
        return None
    return Quota(quota_us / period_us, group) if quota_us >= 0 and period_us > 0 else None  # -1: no quota


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
