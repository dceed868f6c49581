"""The weights of a trajectory, from the scratch folder to the folder of the sweep."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from hpcbench.core.training.trajectory import file_of
from hpcbench.node.results import trajectory_file
from tests.fixtures.records import a_record

CONTENT = b"weights"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def keep(folder: Path, content: bytes | None, sha256: str | None = SHA256) -> list[Path]:
    """The files in the folder of the sweep after a run."""
    scratch = folder / "running/job-1/0-1-1-1"
    scratch.mkdir(parents=True, exist_ok=True)
    if content is not None:
        (scratch / "trajectory.npy").write_bytes(content)
    record = a_record(trajectory={"sha256": sha256}) if sha256 else a_record()
    is_kept = trajectory_file.keep(record, str(scratch), str(folder / "records/job-1.abcd/42_0.jsonl"))
    assert is_kept == (sha256 is None or content == CONTENT)
    return [path for path in (folder / "trajectories").rglob("*") if path.is_file()]


def test_equal_weights_of_two_runs_are_kept_once(tmp_path: Path) -> None:
    for _ in range(2):
        (path,) = keep(tmp_path, CONTENT)
    assert path == tmp_path / "trajectories" / file_of(SHA256)
    assert path.read_bytes() == CONTENT


def test_a_run_without_trajectory_leaves_no_file(tmp_path: Path) -> None:
    assert keep(tmp_path, CONTENT, sha256=None) == []


@pytest.mark.parametrize("content", [b"other", None])
def test_a_changed_or_missing_file_is_a_message(
    tmp_path: Path, content: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert keep(tmp_path, content) == []
    assert "the weights of the trajectory were not kept" in capsys.readouterr().err


def test_a_pipe_in_place_of_the_file_is_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scratch = tmp_path / "running/job-1/0-1-1-1"
    scratch.mkdir(parents=True)
    os.mkfifo(scratch / "trajectory.npy")
    assert keep(tmp_path, None) == []
    assert "the weights of the trajectory were not kept" in capsys.readouterr().err
