"""The divergences of a report, from records and files that other users may have written."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hpcbench.core.record import Record
from hpcbench.core.training.trajectory import Trajectory, file_of
from hpcbench.report.load.divergence import with_divergences
from hpcbench.report.load.results import results_of
from hpcbench.store.workspace import SweepPaths

WEIGHTS = np.arange(6, dtype=np.float32).reshape(2, 3)
MakeRecord = Callable[..., Record]


@pytest.fixture
def trained(paths: SweepPaths, make_record: MakeRecord) -> Callable[..., Record]:
    """Return the record of a run that recorded a trajectory, whose file is written."""

    def record(case: int, run: int = 1, content: bytes | None = None, **changes: Any) -> Record:
        file = io.BytesIO()
        np.save(file, WEIGHTS)
        content = file.getvalue() if content is None else content
        sha256 = hashlib.sha256(content).hexdigest()
        path = paths.trajectories / file_of(sha256)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        trajectory = Trajectory(steps=[0, 1], weights=3, stored=3, order="layers", sha256=sha256)
        made = make_record(case, run, parameters={"framework": ("jax", "pytorch")[case % 2], "task": "training"})
        return replace(made, **{"sweep": paths.name, "trajectory": trajectory, **changes})

    return record


def reasons(paths: SweepPaths, *records: Record) -> list[str]:
    progress: Any = SimpleNamespace(sweep=SimpleNamespace(paths=paths))
    found = with_divergences(results_of([*records]), [progress], records)
    return [each.reason for each in found.divergences]


def test_the_trainings_of_two_frameworks_are_compared(paths: SweepPaths, trained: Any) -> None:
    assert reasons(paths, trained(1), trained(2)) == [""]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"\x93NUMPY\x01\x00\xff\xff{"])
def test_a_damaged_file_does_not_end_a_report(paths: SweepPaths, trained: Any, content: bytes) -> None:
    (reason,) = reasons(paths, trained(1), trained(2, content=content))
    assert "is not an array of NumPy" in reason


def test_a_record_that_names_another_sweep_is_left_out(paths: SweepPaths, trained: Any) -> None:
    assert reasons(paths, trained(1), trained(2), trained(3, sweep="../other")) == [""]


def test_two_records_of_one_run_are_one_run(paths: SweepPaths, trained: Any) -> None:
    assert reasons(paths, trained(1), trained(2), trained(2)) == [""]


def test_a_training_whose_trajectory_was_not_recorded_is_in_no_pair(paths: SweepPaths, trained: Any) -> None:
    """Its reason is that of its case."""
    left = trained(3, trajectory=Trajectory(reason="a trajectory requires strategy: single"))
    assert reasons(paths, trained(1), trained(2), left) == [""]
