from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hpcbench.core.files import make_folder, no_link, write_whole


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """results/SWEEP, where results/ is a link to another file system, as it may be."""
    (tmp_path / "fast").mkdir()
    (tmp_path / "results").symlink_to(tmp_path / "fast")
    (tmp_path / "results" / "study-1").mkdir()
    return tmp_path / "results" / "study-1"


def test_folders_are_made(results: Path) -> None:
    make_folder(str(results / "running" / "job-001" / "0-7-1"))
    make_folder(str(results / "running" / "job-001" / "0-7-1"))
    assert (results / "running" / "job-001" / "0-7-1").is_dir()


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_no_link_below_results_is_followed(level: int, results: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    wanted = results / "running" / "job-001" / "0-7-1"
    planted = [results, *reversed(wanted.parents[:2]), wanted][level]
    planted.parent.mkdir(parents=True, exist_ok=True)
    if planted == results:
        results.rmdir()
    planted.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="hpcbench does not write to symbolic links") as caught:
        make_folder(str(wanted))
    assert caught.value.filename == str(planted)
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("flags", [os.O_WRONLY | os.O_CREAT | os.O_TRUNC, os.O_RDWR | os.O_APPEND | os.O_CREAT])
def test_a_file_that_is_a_link_or_a_pipe_is_not_opened(flags: int, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("kept")
    (tmp_path / "link").symlink_to(target)
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "dangling", "pipe"):
        with pytest.raises(OSError, match=r"symbolic links|only to regular files|No such device"):
            no_link(str(tmp_path / name), flags)
    assert target.read_text() == "kept"
    assert not (tmp_path / "nothing").exists()


def test_it_opens_files_as_open_does(tmp_path: Path) -> None:
    for text in ("longer text", "text"):
        with open(tmp_path / "file", "w", opener=no_link) as file:
            file.write(text)
    assert (tmp_path / "file").read_text() == "text"
    with open(tmp_path / "file", "a", opener=no_link) as file:
        file.write("!")
    assert (tmp_path / "file").read_text() == "text!"


def test_concurrent_writers_of_one_file_all_succeed(tmp_path: Path) -> None:
    """As tasks in containers, which may have the same process ID."""
    with ThreadPoolExecutor(4) as writers:
        list(writers.map(lambda _: write_whole(str(tmp_path / "file"), b"content"), range(200)))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"content"
