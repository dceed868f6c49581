"""The quota of CPU time as a schedule reads it, on machines that are laid out as files: the same as a checkup's."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.torch
pytest.importorskip("torch", reason="PyTorch is not installed; not run: the quota that a schedule reads")

from hpcbench.node.host.cpu_quota import tightest  # noqa: E402
from hpcbench.node.thread_schedule import cpu_quota, cpus  # noqa: E402
from tests.node.host.quotas import QUOTAS  # noqa: E402


@pytest.mark.parametrize(("files", "expected"), QUOTAS)
def test_it_is_that_of_a_checkup(lay: Any, files: dict[str, str], expected: float | None) -> None:
    system = lay(files)
    found, other = cpu_quota.tightest(system.root), tightest(system)
    assert (found and found.cpus) == expected
    assert (found and found.group) == (other and system.path(other.folder))


@pytest.mark.parametrize(
    ("quota_cpus", "most", "why"),
    [
        (None, 4, "5 threads, and this process may use 4 CPUs"),
        (8.0, 4, "5 threads, and this process may use 4 CPUs"),
        (2.5, 3, "4 threads, and this process has a quota of 2.5 CPUs (cgroup /job)"),
        (0.0, 1, "2 threads, and this process has a quota of 0 CPUs (cgroup /job)"),
    ],
)
def test_the_lesser_of_cpus_and_quota_is_the_limit(
    monkeypatch: pytest.MonkeyPatch, quota_cpus: float | None, most: int, why: str
) -> None:
    monkeypatch.setattr(cpus, "usable", lambda: [0, 1, 2, 3])
    monkeypatch.setattr(cpus, "tightest", lambda: None if quota_cpus is None else cpu_quota.Quota(quota_cpus, "/job"))
    assert cpus.most_threads() == most
    assert cpus.too_few_for(most) is None
    assert cpus.too_few_for(most + 1) == f"{why}; `oversubscribe` allows it"
