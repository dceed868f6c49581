"""Real hogs and a real quota, let loose on a real run with the monitor beside it.

That quiet runs are called clean takes a quiet machine: `make bench-interference`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks import faults

pytestmark = pytest.mark.integration

SECONDS = 2.5
CPUS = sorted(os.sched_getaffinity(0))
PLACES = [
    pytest.param(CPUS[-1], id="on the same core"),
    pytest.param(
        CPUS[0], id="on another core", marks=pytest.mark.skipif(len(CPUS) < 2, reason="this machine has one core")
    ),
]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("kind", "workload"), [("cpu", "compute"), ("memory", "memory"), ("io", "io")])
def test_a_hog_is_noticed_and_named(kind: str, workload: str, place: int) -> None:
    outcome = faults.run(workload, CPUS[-1], faults.hog(kind, place), SECONDS)
    assert outcome.verdict == "interference", outcome
    assert kind in outcome.causes


@pytest.mark.system
@pytest.mark.alone  # who gets less CPU time than the quota is not throttled
@pytest.mark.skipif(not faults.can_set_a_quota(), reason="cgroups for CPUs cannot be made here (root can)")
def test_a_quota_is_noticed_and_named() -> None:
    outcome = faults.run("compute", CPUS[-1], faults.quota, SECONDS)
    assert outcome.verdict == "interference", outcome
    assert "throttling" in outcome.causes


def test_the_monitor_may_be_killed_and_the_run_is_called_unmonitored() -> None:
    outcome = faults.run("compute", CPUS[-1], faults.no_monitor, SECONDS)
    assert outcome.verdict == "unmonitored", outcome
