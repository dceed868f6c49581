"""Where our control groups are, in versions 1 and 2 and where both are mounted (cgroups(7))."""

import os
from typing import Dict, List

from .system import System

_MOUNTED = "sys/fs/cgroup"


def folders(system: System, controller: str) -> List[str]:
    """The folders of our control group of `controller` and of all that it lies in, the innermost first.

    A container may show another tree than the kernel names: folders that are not there are left out.
    """
    paths = _paths(system)
    if controller in paths:  # version 1
        base, path = os.path.join(_MOUNTED, controller), paths[controller]
    else:
        beside = os.path.join(_MOUNTED, "unified")  # version 2 beside version 1
        base, path = beside if os.path.isdir(system.path(beside)) else _MOUNTED, paths.get("", "/")
    found = []
    while True:
        folder = os.path.join(base, path.strip("/")).rstrip("/")
        if os.path.isdir(system.path(folder)):
            found.append(folder)
        if path in ("", "/"):
            return found
        path = os.path.dirname(path)


def _paths(system: System) -> Dict[str, str]:
    """The path of our group by controller; that of version 2 by the empty name."""
    paths: Dict[str, str] = {}
    for line in system.lines("proc/self/cgroup"):
        _, names, path = line.split(":", 2)
        paths.update(dict.fromkeys(names.split(","), path))
    return paths
