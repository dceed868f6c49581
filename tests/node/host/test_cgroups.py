"""Control groups of version 1, version 2 and both, as they are laid out on machines and in containers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.node.host import cgroups

V1_APART = ["4:memory:/slurm/uid_7/job_123/step_0", "2:cpuacct:/a/b", "1:cpu:/a/b", "1:name=systemd:/user"]
V1_TOGETHER = ["4:cpu,cpuacct:/a/b", "3:cpuset:/elsewhere"]
V2 = ["0::/a/b"]
HYBRID = ["2:cpuacct:/a/b", "1:cpu:/a/b", "0::/user.slice"]


def folders(machine: Any, lines: list[str], controller: str) -> list[str]:
    """As paths below sys/fs/cgroup."""
    base = str(machine.root / "sys/fs/cgroup") + "/"
    found = cgroups.folders(lines, controller, str(machine.root))
    assert all(path.startswith(base) or path + "/" == base for path in found)
    return [path[len(base) :] for path in found]


def make(machine: Any, *paths: str) -> None:
    for path in paths:
        (machine.root / "sys/fs/cgroup" / path).mkdir(parents=True, exist_ok=True)


@pytest.mark.parametrize(
    ("lines", "made", "controller", "found"),
    [
        (V1_APART, ["cpu/a/b"], "cpu", ["cpu/a/b", "cpu/a", "cpu"]),
        (V1_APART, ["cpu/a/b", "cpuacct/a/b"], "cpuacct", ["cpuacct/a/b", "cpuacct/a", "cpuacct"]),
        (V1_TOGETHER, ["cpu/a/b"], "cpu", ["cpu/a/b", "cpu/a", "cpu"]),
        (V1_TOGETHER, ["cpuacct/a/b"], "cpuacct", ["cpuacct/a/b", "cpuacct/a", "cpuacct"]),
        (V2, ["a/b"], "cpu", ["a/b", "a", ""]),
        (V2, ["a/b"], "", ["a/b", "a", ""]),
        (HYBRID, ["cpu/a/b", "unified/user.slice"], "cpu", ["cpu/a/b", "cpu/a", "cpu"]),
        (HYBRID, ["cpu/a/b", "unified/user.slice"], "", ["unified/user.slice", "unified"]),
        (["1:cpu:/"], ["cpu"], "cpu", ["cpu"]),
        (["0::/"], [""], "cpu", [""]),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_the_folders_of_a_group_and_of_all_that_it_lies_in(
    machine: Any, lines: list[str], made: list[str], controller: str, found: list[str]
) -> None:
    make(machine, *made)
    assert folders(machine, lines, controller) == found


@pytest.mark.parametrize("lines", [[], ["3:cpuset:/a"], ["1:name=systemd:/a"]])
def test_a_process_in_no_group_of_that_kind_has_no_folders(machine: Any, lines: list[str]) -> None:
    make(machine, "a", "cpuset/a", "cpu")
    assert folders(machine, lines, "cpu") == []


def test_a_kernel_without_control_groups_has_none(machine: Any) -> None:
    assert folders(machine, V2, "cpu") == []
    assert folders(machine, V1_APART, "cpu") == []


def test_in_a_container_that_shows_only_its_own_group_that_one_is_found(machine: Any) -> None:
    """The path is the node's; what is mounted is the container's own part of the tree."""
    make(machine, "cpu")
    assert folders(machine, ["1:cpu:/docker/0123abc"], "cpu") == ["cpu"]


def test_a_group_outside_of_what_a_container_shows_leads_nowhere(machine: Any) -> None:
    """cgroup_namespaces(7): such a path begins with `/..`."""
    make(machine, "cpu")
    assert folders(machine, ["0::/../../a"], "") == []
    assert folders(machine, ["1:cpu:/.."], "cpu") == []


def test_lines_that_are_none_of_the_kernels_are_passed_over(machine: Any) -> None:
    make(machine, "a/b")
    assert folders(machine, ["", "nonsense", "1:cpu", *V2], "cpu") == ["a/b", "a", ""]


def test_a_path_may_hold_colons_and_blanks(machine: Any) -> None:
    make(machine, "a b/c:d")
    assert folders(machine, ["0::/a b/c:d"], "cpu") == ["a b/c:d", "a b", ""]


@pytest.mark.parametrize(
    ("path", "job"),
    [
        ("/slurm/uid_7/job_123/step_0/task_1", "slurm/uid_7/job_123"),
        ("/slurm_n1/uid_0/job_4/step_batch", "slurm_n1/uid_0/job_4"),
        ("/system.slice/slurmstepd.scope/job_123/step_0/user/task_0", "system.slice/slurmstepd.scope/job_123"),
        ("/slurm/uid_7/job_123", "slurm/uid_7/job_123"),
        ("/system.slice/slurmstepd.scope/sEKNKTV3WPV500/step_0", "system.slice/slurmstepd.scope/sEKNKTV3WPV500"),
        ("/hpc.slice/n1_slurmstepd.scope/s4JXM8CPH8KG00", "hpc.slice/n1_slurmstepd.scope/s4JXM8CPH8KG00"),
        ("/system.slice/slurmstepd.scope/system", None),
        ("/system.slice/other.scope/sEKNKTV3WPV500", None),
        ("/slurm/uid_7", None),
        ("/user.slice/job_x", None),
        ("/my_job_12/a", None),
        ("/job_12b/a", None),
        ("/", None),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_the_group_of_a_job_of_slurm(machine: Any, version: int, path: str, job: str | None) -> None:
    base = "cpuacct" if version == 1 else ""
    make(machine, f"{base}{path}" if base else path[1:])
    lines = [f"2:cpuacct:{path}"] if version == 1 else [f"0::{path}"]
    found = cgroups.of_job(lines, "cpuacct", str(machine.root))
    folder = machine.root / "sys/fs/cgroup" / base
    assert found == (None if job is None else str(folder / job))


def test_a_job_whose_group_a_container_hides_has_none(machine: Any) -> None:
    make(machine, "cpuacct")
    lines = ["2:cpuacct:/slurm/uid_7/job_123/step_0"]
    assert cgroups.of_job(lines, "cpuacct", str(machine.root)) is None


def test_the_groups_of_this_very_process_are_there() -> None:
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    assert cgroups.folders(lines, "cpu"), "this machine has no cgroups for CPUs"


def test_values_by_their_names() -> None:
    text = b"nr_periods 12\nnr_throttled 3\nthrottled_time 400\n"
    assert cgroups.values(text) == {"nr_periods": 12, "nr_throttled": 3, "throttled_time": 400}
    assert cgroups.values(b"") == {}


@given(st.binary(max_size=60))
def test_garbage_is_a_value_error_or_numbers_by_name(content: bytes) -> None:
    """A monitor passes over a source that says so."""
    try:
        found = cgroups.values(content)
    except ValueError:
        return
    assert all(isinstance(value, int) for value in found.values())
