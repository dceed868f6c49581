"""One file of a sweep: whole, the same for the same files, and never in place of another."""

from __future__ import annotations

import errno
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hpcbench.errors import UserError
from hpcbench.store.archive import pack
from hpcbench.store.archive.pack import Written, write
from hpcbench.store.workspace import SweepPaths
from tests.store.archive.conftest import FILES


def written(paths: SweepPaths, file: Path) -> Written:
    return write(paths, file, lambda done, files: None)


def names(file: Path) -> list[str]:
    with tarfile.open(file) as tar:
        return [member.name for member in tar if member.isreg()]


def test_it_holds_each_file_of_the_sweep_and_no_scratch(paths: SweepPaths, tmp_path: Path) -> None:
    told = written(paths, tmp_path / "s.tar.gz")
    assert set(names(told.file)) == set(FILES)
    assert (told.files, told.size_bytes, told.left_out) == (len(FILES), told.file.stat().st_size, ())
    with tarfile.open(told.file) as tar:
        content = tar.extractfile("results/s/records/job-001/0.jsonl")
        assert content is not None
        assert content.read().decode() == FILES["results/s/records/job-001/0.jsonl"]


def test_the_same_files_give_the_same_bytes(paths: SweepPaths, tmp_path: Path) -> None:
    first = written(paths, tmp_path / "first.tar.gz").file.read_bytes()
    for folder in [*paths.jobs.rglob("*"), *paths.results.rglob("*")]:  # in what order they lie in a folder is nobody's
        if folder.is_dir():
            (folder / "zzz").touch()
            (folder / "zzz").unlink()
            os.utime(folder, (1, 1))
    os.utime(paths.jobs, (1, 1))
    os.utime(paths.results, (1, 1))
    second = written(paths, tmp_path / "second.tar.gz").file.read_bytes()
    assert written(paths, tmp_path / "third.tar.gz").file.read_bytes() == second
    assert len(first) > 0
    with tarfile.open(tmp_path / "second.tar.gz") as tar:
        assert {(member.uid, member.gid, member.uname, member.gname) for member in tar} == {(0, 0, "", "")}


def test_a_file_that_exists_is_not_replaced(paths: SweepPaths, tmp_path: Path) -> None:
    (tmp_path / "s.tar.gz").write_text("mine")
    (tmp_path / "link.tar.gz").symlink_to(tmp_path / "nothing")
    for name in ("s.tar.gz", "link.tar.gz"):
        with pytest.raises(UserError, match="already exists"):
            written(paths, tmp_path / name)
    assert (tmp_path / "s.tar.gz").read_text() == "mine"
    with pytest.raises(UserError, match="is a directory"):
        written(paths, tmp_path)
    with pytest.raises(UserError, match=r"directory '.*' not found"):
        written(paths, tmp_path / "nowhere" / "s.tar.gz")


def test_what_comes_of_that_name_meanwhile_is_not_replaced_either(paths: SweepPaths, tmp_path: Path) -> None:
    file = tmp_path / "s.tar.gz"
    with pytest.raises(UserError, match="already exists"):
        write(paths, file, lambda done, files: file.write_text("mine") and None)
    assert file.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def without_hard_links(unfinished: Path, file: Path) -> None:
    raise PermissionError(errno.EPERM, "Operation not permitted")


@pytest.mark.parametrize("link", [os.link, without_hard_links])
def test_of_two_that_write_at_once_one_has_the_name_with_and_without_hard_links(
    paths: SweepPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, link: Callable[[Path, Path], None]
) -> None:
    """The other one comes between the last look and the naming, as late as can be."""
    file = tmp_path / "s.tar.gz"

    def too_late(unfinished: Path, name: Path) -> None:
        file.write_text("mine")
        link(unfinished, name)

    monkeypatch.setattr(os, "link", too_late)
    with pytest.raises(UserError, match="already exists"):
        written(paths, file)
    assert file.read_text() == "mine"
    assert {path.name for path in tmp_path.iterdir()} == {"workspace", "s.tar.gz"}


def test_without_hard_links_it_is_written_all_the_same(
    paths: SweepPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", without_hard_links)
    file = written(paths, tmp_path / "s.tar.gz").file
    assert set(names(file)) == set(FILES)
    assert file.stat().st_mode & 0o777 == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {"workspace", "s.tar.gz"}


def test_links_are_left_out_and_told(paths: SweepPaths, tmp_path: Path) -> None:
    (paths.jobs / "passwd").symlink_to("/etc/passwd")
    (paths.results / "elsewhere").symlink_to(tmp_path)
    os.mkfifo(paths.results / "pipe")
    told = written(paths, tmp_path / "s.tar.gz")
    assert set(told.left_out) == {"jobs/s/passwd", "results/s/elsewhere", "results/s/pipe"}
    assert set(names(told.file)) == set(FILES)


def test_a_file_that_grows_meanwhile_is_as_long_as_it_was(paths: SweepPaths, tmp_path: Path) -> None:
    record = paths.results / "records" / "job-001" / "0.jsonl"
    before = record.read_text()

    def report(done: int, files: int) -> None:
        with record.open("a") as file:
            file.write('{"status": "failed"}\n')

    told = write(paths, tmp_path / "s.tar.gz", report)
    with tarfile.open(told.file) as tar:
        content = tar.extractfile("results/s/records/job-001/0.jsonl")
        assert content is not None
        kept = content.read().decode()
    assert kept.startswith(before)
    assert kept.endswith("\n")


def test_one_that_goes_meanwhile_is_left_out(paths: SweepPaths, tmp_path: Path) -> None:
    gone = paths.results / "records" / "job-001" / "0.jsonl"
    told = write(paths, tmp_path / "s.tar.gz", lambda done, files: gone.unlink(missing_ok=True))
    assert "results/s/records/job-001/0.jsonl" not in names(told.file)


def test_one_that_shrinks_meanwhile_is_an_error_and_leaves_nothing_with_a_made_up_size(
    paths: SweepPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = pack._header
    monkeypatch.setattr(pack, "_header", lambda entry, status, size: header(entry, status, size + (size > 0)))
    with pytest.raises(UserError, match="became shorter while it was read"):
        written(paths, tmp_path / "s.tar.gz")
    assert [path.name for path in tmp_path.iterdir()] == ["workspace"]
