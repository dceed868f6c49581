"""Quotas of control groups, on machines that are laid out as files."""

from __future__ import annotations

import pytest

from hpcbench.node.checkup import quota
from hpcbench.node.checkup.finding import OK, PROBLEM, WARNING

GROUP = "sys/fs/cgroup/"
ONLINE = {"sys/devices/system/cpu/online": "0-3\n"}


def v1(path: str, quota_us: int, **files: str) -> dict[str, str]:
    told = {"cpu.cfs_quota_us": str(quota_us), "cpu.cfs_period_us": "100000", **files}
    return {f"{GROUP}cpu{path}/{name}": text for name, text in told.items()}


def v2(path: str, most: str, **files: str) -> dict[str, str]:
    return {f"{GROUP}{path}/{name}": text for name, text in {"cpu.max": most, **files}.items()}


V1 = {"proc/self/cgroup": "4:cpu,cpuacct:/slurm/job_7\n3:cpuset:/slurm/job_7\n0::/\n"}
V2 = {"proc/self/cgroup": "0::/slurm/job_7\n"}


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({**V1, **v1("/slurm/job_7", 150000)}, 1.5),
        ({**V1, **v1("/slurm/job_7", -1)}, None),
        ({**V1, **v1("/slurm/job_7", -1), **v1("/slurm", 300000)}, 3.0),
        ({**V1, **v1("/slurm/job_7", 400000), **v1("/slurm", 50000), **v1("", -1)}, 0.5),
        ({**V2, **v2("slurm/job_7", "150000 100000")}, 1.5),
        ({**V2, **v2("slurm/job_7", "max 100000"), **v2("slurm", "20000 10000")}, 2.0),
        ({**V2, **v2("slurm/job_7", "max 100000")}, None),
        ({**V2, **v2("unified/slurm/job_7", "50000 100000")}, 0.5),
        ({**V2, **v2(".", "70000 100000")}, 0.7),
        ({"proc/self/cgroup": ""}, None),
        ({}, None),
    ],
    ids=[
        "version 1",
        "version 1 without one",
        "version 1, a group further out",
        "version 1, the tightest of several",
        "version 2",
        "version 2, a group further out",
        "version 2 without one",
        "both versions mounted",
        "a container that shows its own group as the root",
        "no group",
        "nothing told",
    ],
)
def test_the_tightest_quota_of_all_groups_counts(lay, files: dict[str, str], cpus: float | None) -> None:
    found = quota.tightest(lay(files))
    assert (found and found.cpus) == cpus


@pytest.mark.parametrize(("cpus", "level"), [([0, 1, 2, 3], WARNING), ([0, 1], WARNING), ([0], OK)])
def test_a_quota_matters_where_it_is_less_than_the_cpus(lay, cpus: list[int], level: str) -> None:
    files = {**ONLINE, **V2, **v2("slurm/job_7", "150000 100000", **{"cpu.stat": "usage_usec 5\nnr_throttled 12"})}
    _, finding = quota.look(lay(files, cpus))
    assert finding.level == level
    assert "1.5 CPUs' worth of time (/sys/fs/cgroup/slurm/job_7), used up in 12 periods" in finding.found


def test_a_part_of_the_cpus_is_named(lay) -> None:
    finding, _ = quota.look(lay(ONLINE, [1, 2]))
    assert (finding.level, finding.found) == (OK, "2 of 4 CPUs usable: 1-2")


@pytest.mark.parametrize(
    ("allowed", "level"), [("0-1", OK), ("2-3", PROBLEM), ("", OK)], ids=["the same", "others", "not told"]
)
def test_a_binding_that_contradicts_the_control_group_is_a_problem(lay, allowed: str, level: str) -> None:
    files = {**ONLINE, **V1, f"{GROUP}cpuset/slurm/job_7/cpuset.cpus": allowed}
    assert quota.look(lay(files, [0, 1]))[0].level == level
