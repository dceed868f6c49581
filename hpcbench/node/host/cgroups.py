"""The cgroup folders of a process, in versions 1 and 2 and if both are mounted (cgroups(7))."""

import os
import re
from typing import Dict, List, Optional, Tuple

# Names by Slurm's task/cgroup and proctrack/cgroup: after the job ID or, in version 2 since Slurm 26.05
# (CgroupJobIdPaths in cgroup.conf(5)), after the SLUID of the job. The name of the node may precede that of the scope.
_JOB = re.compile(r"(.*/job_\d+|.*slurmstepd\.scope/s[0-9A-Z]{13})(/.*)?\Z")


def folders(lines: List[str], controller: str, root: str = "/") -> List[str]:
    """Return the folders of the cgroup of `controller` and of all enclosing ones, innermost first.

    `lines` are those of /proc/PID/cgroup. A container may show another tree: folders that do not exist are left out.
    """
    base, path = _base_and_path(lines, controller, root)
    if base is None or path.startswith("/.."):  # outside of the tree that a container shows (cgroup_namespaces(7))
        return []
    found = []
    while True:
        folder = os.path.join(base, path.strip("/"))
        if os.path.isdir(folder):
            found.append(folder.rstrip("/"))
        if path in ("", "/"):
            return found
        path = os.path.dirname(path)


def of_job(lines: List[str], controller: str, root: str = "/") -> Optional[str]:
    """Return the folder of the job's own cgroup; None if Slurm has not made one."""
    for folder in folders(lines, controller, root):
        match = _JOB.match(folder)
        if match:
            return match.group(1)
    return None


def own(lines: List[str], controller: str, root: str = "/") -> List[str]:
    """Return the folders that contain no other job's processes, innermost first.

    These are the cgroup itself and, in version 2, whose counts include nested groups, all enclosing ones up to the
    job's. Version 1 excludes the root. In version 2 the root has no counters, except for the root that a container
    shows, which contains only its own processes.
    """
    base, path = _base_and_path(lines, controller, root)
    found = folders(lines, controller, root)
    if base is None or not found or found[0] != os.path.join(base, path.strip("/")).rstrip("/"):
        return []
    if os.path.basename(base) == controller:
        return found[:1] if path.strip("/") else []
    job = of_job(lines, controller, root)
    return found[: found.index(job) + 1] if job in found else found[:1]


def _base_and_path(lines: List[str], controller: str, root: str) -> Tuple[Optional[str], str]:
    paths: Dict[str, str] = {}
    for line in lines:
        if line.count(":") >= 2:
            _, names, path = line.split(":", 2)
            paths.update(dict.fromkeys(names.split(","), path))
    mounted = os.path.join(root, "sys/fs/cgroup")
    if controller and controller in paths:  # version 1; `cpu` and `cpuacct` may be mounted together
        return os.path.join(mounted, controller), paths[controller]
    if "" in paths:
        unified = os.path.join(mounted, "unified")  # next to version 1 it has no controllers of its own
        return (unified if os.path.isdir(unified) else mounted), paths[""]
    return None, ""


def values(content: bytes) -> Dict[str, int]:
    """Return the content of a file of `name value` lines, such as cpu.stat."""
    words = content.split()
    return {name.decode(): int(value) for name, value in zip(words[::2], words[1::2])}
