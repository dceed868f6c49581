"""What is written once for a sweep, and when it may be."""

from __future__ import annotations

import json
import os
import platform
import threading
from pathlib import Path

import pytest

from hpcbench.core.files import keep_once, write_whole
from hpcbench.node.launch import rank_files


def test_the_first_writes_it_and_nobody_after_that(tmp_path: Path) -> None:
    path = tmp_path / "ab" / "n1.json"
    keep_once(str(path), lambda: {"by": 1})
    keep_once(str(path), lambda: pytest.fail("it was there"))
    assert json.loads(path.read_text()) == {"by": 1}
    assert [file.name for file in path.parent.iterdir()] == ["n1.json"]


def test_where_nothing_can_be_written_it_is_told_and_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    keep_once(str(tmp_path / "file" / "n1.json"), dict)
    assert "n1.json was not written: " in capsys.readouterr().err


def test_what_is_half_written_is_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "n1.json").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_whole(str(tmp_path / "n1.json"), "{}")
    assert [file.name for file in tmp_path.iterdir()] == ["n1.json"]


def test_symbolic_links_of_other_users_are_not_followed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hpcbench.core.files.time.monotonic_ns", lambda: 7)
    sweep, target = tmp_path / "results" / "study-1", tmp_path / "target"
    sweep.mkdir(parents=True)
    target.mkdir()
    (target / "file").write_text("kept")
    (sweep / "nodes").symlink_to(target)
    (sweep / f"n1.json.{platform.node()}-{os.getpid()}-7.part").symlink_to(target / "file")
    for path in (sweep / "nodes" / "ab" / "n1.json", sweep / "n1.json"):
        keep_once(str(path), dict)
    assert [(file.name, file.read_text()) for file in target.iterdir()] == [("file", "kept")]
    assert capsys.readouterr().err.count("was not written: ") == 2


def test_what_nobody_foresaw_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep_once(str(tmp_path / "n1.json"), lambda: {"1": 1 // 0})
    assert "division" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_ranks_that_have_left_their_files_have_ended(tmp_path: Path) -> None:
    for name in ("rank-0.json", "rank-1.json.part", "monitor-n1.jsonl"):
        (tmp_path / name).write_text("")
    assert rank_files.all_have_ended(str(tmp_path), 1, 0)
    assert not rank_files.all_have_ended(str(tmp_path), 2, 0)
    assert not rank_files.all_have_ended(str(tmp_path / "gone"), 1, 0)


def test_a_rank_that_is_a_little_later_is_waited_for(tmp_path: Path) -> None:
    late = threading.Timer(0.2, (tmp_path / "rank-0.json").touch)
    late.start()
    assert rank_files.all_have_ended(str(tmp_path), 1, 60)
    late.join()
