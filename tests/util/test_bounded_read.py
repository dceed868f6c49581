"""Files that are larger than anything that hpcbench writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcbench.util import bounded_read
from hpcbench.util.bounded_read import content, lines


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_read, "MAX_BYTES", 10)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


def test_what_is_small_enough_is_read_whole(file: Path) -> None:
    file.write_bytes(b"0123456789")
    assert content(file) == b"0123456789"


def test_what_is_larger_is_refused(file: Path) -> None:
    file.write_bytes(b"0123456789a")
    with pytest.raises(ValueError, match="it is larger than"):
        content(file)
    with pytest.raises(ValueError, match="it is larger than"):
        content(Path("/dev/zero"))


def lines_of(file: Path, *, whole: bool = False) -> list[bytes]:
    with file.open("rb") as opened:
        return list(lines(opened, whole=whole))


def test_of_whole_lines_the_last_one_that_has_no_end_yet_is_left_out(file: Path) -> None:
    file.write_bytes(b"one\ntwo\nthr")
    assert lines_of(file) == [b"one", b"two", b"thr"]
    assert lines_of(file, whole=True) == [b"one", b"two"]
    file.write_bytes(b"0123456789a\ntwo")
    assert lines_of(file, whole=True) == [b"0123456789"]


def test_what_is_added_to_a_line_while_it_is_read_is_not_another_line(file: Path) -> None:
    file.write_bytes(b"one\ntw")
    with file.open("rb") as stream:
        found = lines(stream)
        assert [next(found), next(found)] == [b"one", b"tw"]
        with file.open("ab") as other:
            other.write(b"o\n")
        assert list(found) == []
        assert stream.tell() == len(b"one\ntw")


def test_lines_come_without_their_ends(file: Path) -> None:
    file.write_bytes(b"one\n\ntwo\r\nthree")
    assert lines_of(file) == [b"one", b"", b"two", b"three"]


@pytest.mark.parametrize("length", [10, 11, 19, 20, 21, 35])
def test_of_a_line_that_is_too_long_comes_the_beginning_and_then_the_next_line(file: Path, length: int) -> None:
    file.write_bytes(b"first\n" + b"x" * length + b"\nlast\n")
    assert lines_of(file) == [b"first", b"x" * 10, b"last"]


def test_a_line_that_just_fits_is_whole(file: Path) -> None:
    file.write_bytes(b"x" * 9 + b"\nlast\n")
    assert lines_of(file) == [b"x" * 9, b"last"]
