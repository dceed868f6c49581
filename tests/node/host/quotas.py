"""Control groups laid out as files, and the tightest quota of each, in CPUs."""

from __future__ import annotations

import pytest

GROUP = "sys/fs/cgroup/"


def v1(path: str, quota_us: int, **files: str) -> dict[str, str]:
    told = {"cpu.cfs_quota_us": str(quota_us), "cpu.cfs_period_us": "100000", **files}
    return {f"{GROUP}cpu{path}/{name}": text for name, text in told.items()}


def v2(path: str, most: str, **files: str) -> dict[str, str]:
    return {f"{GROUP}{path}/{name}": text for name, text in {"cpu.max": most, **files}.items()}


V1 = {"proc/self/cgroup": "4:cpu,cpuacct:/slurm/job_7\n3:cpuset:/slurm/job_7\n0::/\n"}
V2 = {"proc/self/cgroup": "0::/slurm/job_7\n"}

QUOTAS = [
    pytest.param({**V1, **v1("/slurm/job_7", 150000)}, 1.5, id="version 1"),
    pytest.param({**V1, **v1("/slurm/job_7", -1)}, None, id="version 1 without one"),
    pytest.param({**V1, **v1("/slurm/job_7", -1), **v1("/slurm", 300000)}, 3.0, id="version 1, a group further out"),
    pytest.param(
        {**V1, **v1("/slurm/job_7", 400000), **v1("/slurm", 50000), **v1("", -1)},
        0.5,
        id="version 1, the tightest of several",
    ),
    pytest.param({**V2, **v2("slurm/job_7", "150000 100000")}, 1.5, id="version 2"),
    pytest.param(
        {**V2, **v2("slurm/job_7", "max 100000"), **v2("slurm", "20000 10000")},
        2.0,
        id="version 2, a group further out",
    ),
    pytest.param({**V2, **v2("slurm/job_7", "max 100000")}, None, id="version 2 without one"),
    pytest.param({**V2, **v2("unified/slurm/job_7", "50000 100000")}, 0.5, id="both versions mounted"),
    pytest.param({**V2, **v2(".", "70000 100000")}, 0.7, id="a container that shows its own group as the root"),
    pytest.param(
        {"proc/self/cgroup": "0::/../job_7\n", **v2(".", "70000 100000")}, None, id="outside of a container's tree"
    ),
    pytest.param({"proc/self/cgroup": ""}, None, id="no group"),
    pytest.param({}, None, id="nothing told"),
]
