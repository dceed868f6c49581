"""Reading small files again and again, also those that change, go, or cannot be read."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hpcbench.node.host import open_files
from hpcbench.node.host.open_files import Files, why_unreadable


def open_below(folder: Path) -> int:
    """How many files of a folder this process holds open."""
    links = list(Path("/proc/self/fd").iterdir())  # one of them is that of the listing itself, gone by now
    return sum(link.is_symlink() and str(link.readlink()).startswith(str(folder)) for link in links)


def test_a_file_that_changes_is_read_anew(tmp_path: Path) -> None:
    read = Files()
    path = tmp_path / "counter"
    for content in (b"12\n", b"7\n", b"", b"123456\n"):
        path.write_bytes(content)
        assert read.read(str(path)) == content


@pytest.mark.parametrize("size", [2047, 2048, 2049, 65535, 65536, 65537, 200_000])
def test_a_file_of_any_size_is_read_whole(tmp_path: Path, size: int) -> None:
    content = os.urandom(size)
    (tmp_path / "file").write_bytes(content)
    read = Files()
    assert [read.read(str(tmp_path / "file")) for _ in range(2)] == 2 * [content]


def test_a_file_of_the_kernel_that_comes_in_pages_is_read_whole() -> None:
    whole = Path("/proc/vmstat").read_bytes()
    names = [line.split()[0] for line in Files().read("/proc/vmstat").splitlines()]
    assert names == [line.split()[0] for line in whole.splitlines()]
    assert len(whole) > os.sysconf("SC_PAGE_SIZE") / 2, "else it shows nothing"


@pytest.mark.parametrize("name", ["gone", "folder", "gone/deeper"])
def test_what_cannot_be_read_holds_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    read = Files()
    assert read.read(str(tmp_path / name)) == b""
    assert open_below(tmp_path) == 0


def test_a_file_of_a_process_that_ends_holds_nothing_and_is_not_kept_open() -> None:
    read = Files()
    with subprocess.Popen(["sleep", "60"]) as process:
        path = f"/proc/{process.pid}/stat"
        assert read.read(path).startswith(b"%d " % process.pid)
        process.kill()
        process.wait()
        assert read.read(path) == b""
    assert open_below(Path(f"/proc/{process.pid}")) == 0


def test_a_file_that_comes_later_is_found(tmp_path: Path) -> None:
    read = Files()
    assert read.read(str(tmp_path / "late")) == b""
    (tmp_path / "late").write_bytes(b"1")
    assert read.read(str(tmp_path / "late")) == b"1"


def test_files_are_held_open_until_they_are_forgotten(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"1")
    read = Files()
    read.read(str(tmp_path / "file"))
    assert open_below(tmp_path) == 1
    for _ in range(2):  # twice does no harm
        read.forget(str(tmp_path / "file"))
    assert open_below(tmp_path) == 0


def test_more_files_than_may_be_open_are_read_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_files, "_MAX_OPEN", 5)
    paths = [tmp_path / str(number) for number in range(12)]
    for path in paths:
        path.write_text(path.name)
    read = Files()
    for _ in range(2):
        assert [read.read(str(path)) for path in paths] == [path.name.encode() for path in paths]
    assert open_below(tmp_path) == 5


def test_why_a_file_cannot_be_read_is_said_in_words(tmp_path: Path) -> None:
    assert why_unreadable(str(tmp_path / "gone")) == f"No such file or directory: {tmp_path}/gone"
    assert why_unreadable(str(tmp_path)) == f"Is a directory: {tmp_path}"
    assert why_unreadable("/proc/self/stat") is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_others_keep_to_themselves_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "secret").touch(mode=0)
    assert why_unreadable(str(tmp_path / "secret")) == f"Permission denied: {tmp_path}/secret"
