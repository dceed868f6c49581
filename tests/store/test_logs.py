"""The end of a log, however long it is and whatever stands in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpcbench.store.logs import LONGEST, MOST_BYTES, last_lines


@pytest.mark.parametrize(
    ("content", "count", "lines"),
    [
        (b"", 3, []),
        (b"\n\n", 3, []),
        (b"one\ntwo\nthree\n", 2, ["two", "three"]),
        (b"one\n\n two\n\n\n", 9, ["one", "", " two"]),
        (b"one\n", 0, []),
        (b"0 %\r50 %\r100 %\r\ndone", 2, ["100 %", "done"]),
        (b"no UTF-8: \xff", 1, ["no UTF-8: �"]),
    ],
)
def test_the_last_lines(content: bytes, count: int, lines: list[str], tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(content)
    assert last_lines(log, count) == lines


def test_of_a_long_log_only_the_end_is_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"x" * MOST_BYTES + b"\nlast but one\nlast\n")
    assert last_lines(log, 10) == ["last but one", "last"]


def test_of_a_line_that_is_longer_the_end_is_shown(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"a" + b"b" * MOST_BYTES)
    assert last_lines(log, 10) == ["b" * LONGEST]
