"""Caches, and memory that is left, on machines that are laid out as files."""

from __future__ import annotations

import pytest

from hpcbench.node.host.memory import available_bytes, last_level_cache_bytes

GROUP = "sys/fs/cgroup/"
V1 = {"proc/self/cgroup": "4:memory:/slurm/job_7\n"}
V2 = {"proc/self/cgroup": "0::/slurm/job_7\n"}
MACHINE = {"proc/meminfo": "MemTotal: 9000 kB\nMemFree: 10 kB\nMemAvailable: 1000 kB\n"}


def cache(cpu: int, index: int, level: int, size: str, shared: str, kind: str = "Unified") -> dict[str, str]:
    folder = f"sys/devices/system/cpu/cpu{cpu}/cache/index{index}/"
    told = {"level": str(level), "size": size, "shared_cpu_list": shared, "type": kind}
    return {folder + name: f"{text}\n" for name, text in told.items()}


def two_pairs() -> dict[str, str]:
    """Four CPUs; two and two share a cache of the third level."""
    files: dict[str, str] = {}
    for cpu in range(4):
        files |= cache(cpu, 0, 1, "32K", str(cpu), "Data") | cache(cpu, 1, 1, "64K", str(cpu), "Instruction")
        files |= cache(cpu, 3, 3, "16M", "0-1" if cpu < 2 else "2-3")
    return files


@pytest.mark.parametrize(("cpus", "expected"), [([0], 16), ([0, 1], 16), ([1, 2], 32), ([0, 1, 2, 3], 32)])
def test_each_cache_of_the_last_level_counts_once(lay, cpus: list[int], expected: int) -> None:
    assert last_level_cache_bytes(lay(two_pairs()), cpus) == expected * 2**20


def test_caches_that_are_not_told(lay) -> None:
    assert last_level_cache_bytes(lay({}), [0]) is None
    assert last_level_cache_bytes(lay(cache(0, 0, 1, "", "0")), [0]) is None


@pytest.mark.parametrize(
    ("files", "kilobytes"),
    [
        (MACHINE, 1000),
        ({**MACHINE, **V2, f"{GROUP}slurm/job_7/memory.max": "max", f"{GROUP}slurm/job_7/memory.current": "5"}, 1000),
        (
            {**MACHINE, **V2, f"{GROUP}slurm/memory.max": "512000", f"{GROUP}slurm/memory.current": "102400"},
            400,
        ),
        (
            {
                **MACHINE,
                **V1,
                f"{GROUP}memory/slurm/job_7/memory.limit_in_bytes": "102400",
                f"{GROUP}memory/slurm/job_7/memory.usage_in_bytes": "204800",
            },
            0,
        ),
    ],
    ids=["the machine alone", "no limit", "a group further out, version 2", "more than the limit, version 1"],
)
def test_the_least_of_the_machine_and_all_groups_is_left(lay, files: dict[str, str], kilobytes: int) -> None:
    assert available_bytes(lay(files)) == kilobytes * 1024


def test_memory_that_is_not_told(lay) -> None:
    assert available_bytes(lay({})) is None
