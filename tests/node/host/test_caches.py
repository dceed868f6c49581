"""The last-level cache, from a copy of sysfs."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcbench.node.host.caches import last_level_bytes
from hpcbench.node.host.sysfs import System


def put_cache(root: Path, cpu: int, index: int, level: str, size: str, shared: str) -> None:
    folder = root / f"sys/devices/system/cpu/cpu{cpu}/cache/index{index}"
    folder.mkdir(parents=True)
    for name, text in (("level", level), ("size", size), ("shared_cpu_list", shared)):
        (folder / name).write_text(text + "\n")


@pytest.mark.parametrize(("cpus", "expected"), [([0, 1], 2**25), ([0, 1, 2], 2**26), ([2], 2**25)])
def test_caches_that_the_cpus_share_count_once(tmp_path: Path, cpus: list[int], expected: int) -> None:
    for cpu, shared in ((0, "0-1"), (1, "0-1"), (2, "2-3")):
        put_cache(tmp_path, cpu, 2, "2", "1024K", str(cpu))
        put_cache(tmp_path, cpu, 3, "3", "32M" if cpu else "32768K", shared)
    assert last_level_bytes(System(cpus, str(tmp_path))) == expected


def test_an_unknown_cache_is_larger_than_most(tmp_path: Path) -> None:
    assert last_level_bytes(System([0], str(tmp_path))) == 2**26
