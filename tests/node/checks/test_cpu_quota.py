"""Quotas of cgroups, on machines that are laid out as files."""

from __future__ import annotations

import pytest

from hpcbench.core.check_result import OK, PROBLEM, WARNING
from hpcbench.node.checks import cpu_quota
from hpcbench.node.host.cpu_quota import tightest
from tests.node.host.quotas import GROUP, QUOTAS, V1, V2, v2

ONLINE = {"sys/devices/system/cpu/online": "0-3\n"}


@pytest.mark.parametrize(("files", "cpus"), QUOTAS)
def test_the_tightest_quota_of_all_groups_counts(lay, files: dict[str, str], cpus: float | None) -> None:
    found = tightest(lay(files))
    assert (found and found.cpus) == cpus


@pytest.mark.parametrize(("cpus", "level"), [([0, 1, 2, 3], WARNING), ([0, 1], WARNING), ([0], OK)])
def test_a_quota_matters_where_it_is_less_than_the_cpus(lay, cpus: list[int], level: str) -> None:
    files = {**ONLINE, **V2, **v2("slurm/job_7", "150000 100000", **{"cpu.stat": "usage_usec 5\nnr_throttled 12"})}
    _, finding = cpu_quota.check(lay(files, cpus))
    assert finding.level == level
    assert "1.5 CPUs' worth of time (/sys/fs/cgroup/slurm/job_7), throttled in 12 periods" in finding.found


def test_a_part_of_the_cpus_is_named(lay) -> None:
    finding, _ = cpu_quota.check(lay(ONLINE, [1, 2]))
    assert (finding.level, finding.found) == (OK, "2 of 4 CPUs usable: 1-2")


@pytest.mark.parametrize(
    ("allowed", "level"), [("0-1", OK), ("2-3", PROBLEM), ("", OK)], ids=["the same", "others", "not told"]
)
def test_a_binding_that_contradicts_the_control_group_is_a_problem(lay, allowed: str, level: str) -> None:
    files = {**ONLINE, **V1, f"{GROUP}cpuset/slurm/job_7/cpuset.cpus": allowed}
    assert cpu_quota.check(lay(files, [0, 1]))[0].level == level
