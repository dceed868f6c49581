"""Reading the weights of trajectories, which another user may have changed."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcbench.collect.trajectories import weights_of
from hpcbench.core.training.trajectory import Trajectory, file_of
from hpcbench.store.workspace import SweepPaths


def saved(weights: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, weights)
    return file.getvalue()


def zipped() -> bytes:
    file = io.BytesIO()
    np.savez(file, weights=WEIGHTS)
    return file.getvalue()


def with_header(text: str) -> bytes:
    """Return a file with this header in the format of np.save, and no values."""
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


HUGE = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 3), }"
WEIGHTS = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def written(paths: SweepPaths) -> Callable[..., Trajectory]:
    """The trajectory of a run with these weights, or bytes, which are in their file."""

    def write(weights: Any = WEIGHTS) -> Trajectory:
        content = weights if isinstance(weights, bytes) else saved(weights)
        sha256 = hashlib.sha256(content).hexdigest()
        path = paths.trajectories / file_of(sha256)
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        return Trajectory(steps=[0, 1], weights=3, stored=3, order="layers", sha256=sha256)

    return write


def test_weights_come_back(paths: SweepPaths, written: Any) -> None:
    assert np.array_equal(weights_of(paths, written()), WEIGHTS)


def test_a_changed_or_missing_file_is_an_error(paths: SweepPaths, written: Any) -> None:
    found = written()
    path = paths.trajectories / file_of(found.sha256)
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(ValueError, match="does not have the checksum in its name"):
        weights_of(paths, found)
    path.unlink()
    with pytest.raises(ValueError, match=r"cannot be read: No such file"):
        weights_of(paths, found)


class Pickled:
    def __reduce__(self) -> Any:
        return Path.touch, (Path("/nonexistent/pickled"),)


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        (np.array([Pickled()]), "has object of shape"),
        (np.asfortranarray(WEIGHTS), "order is that of Fortran"),
        (b"", "is not an array of NumPy"),
        (zipped(), "is not an array of NumPy"),
        (saved(WEIGHTS)[:-1], "has 23 bytes of weights, unlike its header"),
        (with_header(HUGE % 2), "has 0 bytes of weights, unlike its header"),
        (with_header(HUGE % 2**44), "unlike its record"),
        (with_header("(" * 5000), "is not an array of NumPy"),
        (with_header("{'descr': '<f4'"), "is not an array of NumPy"),
        (WEIGHTS.astype(np.float64), "float64 of shape"),
        (WEIGHTS[:, :2], "unlike its record"),
    ],
)
def test_other_content_with_a_right_checksum_is_an_error(
    paths: SweepPaths, written: Any, weights: Any, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        weights_of(paths, written(weights))


@pytest.mark.parametrize("sha256", [None, "../../../etc/passwd", "ab" * 31 + "/.", "AB" * 32])
def test_a_record_does_not_lead_outside_the_folder(paths: SweepPaths, sha256: Any) -> None:
    with pytest.raises(ValueError, match="no checksum"):
        weights_of(paths, Trajectory(sha256=sha256))


def test_a_record_without_steps_has_no_weights(paths: SweepPaths, written: Any) -> None:
    trajectory = replace(written(np.empty((0, 3), np.float32)), steps=[])
    with pytest.raises(ValueError, match="no steps with weights"):
        weights_of(paths, trajectory)


def test_the_reason_of_a_trajectory_without_weights_is_the_error(paths: SweepPaths) -> None:
    with pytest.raises(ValueError, match="memory ran out"):
        weights_of(paths, Trajectory(reason="memory ran out"))
