from __future__ import annotations

import os
from pathlib import Path

import pytest

from hpcbench.status import scratch
from hpcbench.status.evidence import JobState

ME = os.getuid()


@pytest.mark.parametrize(
    ("job", "submitted_by", "is_saved", "may"),
    [
        (JobState("ended"), ME, True, True),
        (JobState("ended"), ME, False, False),
        (JobState("ended"), ME + 1, True, False),
        (JobState("active"), ME, True, False),
        (JobState("unknown"), ME, True, False),
        (None, ME, True, True),  # a process of this machine, which has been waited for
        (None, ME, False, False),
    ],
)
def test_files_are_deleted_only_by_their_user_after_the_end_and_the_record(
    job: JobState | None, submitted_by: int, is_saved: bool, may: bool
) -> None:
    assert scratch.may_delete(job, submitted_by, is_saved=is_saved) is may


def test_the_latest_change_is_that_of_the_newest_file(tmp_path: Path) -> None:
    folder, log = tmp_path / "3-8-0-1", tmp_path / "3-8.log"
    folder.mkdir()
    for path, at in ((folder / "rank-0.json.part", 300), (folder / "monitor", 200), (log, 100)):
        path.touch()
        os.utime(path, (at, at))
    os.utime(folder, (50, 50))
    assert scratch.latest_change([folder, log]) == 300
    assert scratch.latest_change([log]) == 100
    assert scratch.latest_change([tmp_path / "gone"]) is None


def test_a_folder_that_cannot_be_read_is_not_an_empty_one(tmp_path: Path) -> None:
    """Otherwise a run that has ended well would be concluded without the files of its ranks."""
    (tmp_path / "running").touch()
    with pytest.raises(NotADirectoryError):
        scratch.find_scratch(tmp_path / "running")
    assert scratch.find_scratch(tmp_path / "absent") == {}


def test_files_and_folders_are_removed_and_missing_ones_are_no_error(tmp_path: Path) -> None:
    folder, log = tmp_path / "3-8-0-1", tmp_path / "3-8.log"
    folder.mkdir()
    log.touch()
    scratch.delete([folder, log, tmp_path / "4-8.log", tmp_path / "4-8-0-1"])
    assert list(tmp_path.iterdir()) == []
