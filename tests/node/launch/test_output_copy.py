"""The copy of an output: which bytes stay, where they were, and what happens on a full disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpcbench.core.metrics.kept_output import Part, missing_bytes
from hpcbench.core.metrics.plain_text import decoded
from hpcbench.node.launch import output_copy
from hpcbench.node.launch.output_copy import OutputCopy, parts


@pytest.fixture(autouse=True, scope="module")
def small_segments() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output_copy, "SEGMENT_BYTES", 10)
        yield


def copied(path: Path, *chunks: bytes) -> list[Part]:
    for old in path.parent.glob(path.name + "*"):
        old.unlink()
    copy = OutputCopy(str(path))
    for chunk in chunks:
        copy.write(chunk)
    copy.close()
    assert copy.is_whole
    return parts(str(path))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(chunks=st.lists(st.binary(max_size=35), max_size=12))
def test_the_first_segment_and_the_last_two_stay(chunks: list[bytes], tmp_path: Path) -> None:
    printed = b"".join(chunks)
    found = copied(tmp_path / "rank-0.out", *chunks)
    for part in found:
        assert printed[part.offset : part.offset + len(part.content)] == part.content
    kept = sum(len(part.content) for part in found)
    assert kept + missing_bytes(found) == len(printed)
    assert kept >= min(len(printed), 20)
    assert len(list(tmp_path.iterdir())) <= 3
    assert (len(found) == 1) == (missing_bytes(found) == 0)
    assert missing_bytes(found) == 0 or len(printed) > 30


def test_after_an_error_nothing_more_is_copied(tmp_path: Path) -> None:
    copy = OutputCopy(str(tmp_path / "rank-0.out"))
    (tmp_path / "rank-0.out.1").mkdir()  # in place of a full disk: the next segment cannot be opened
    copy.write(b"0123456789abc")
    assert not copy.is_whole
    copy.write(b"def")
    copy.close()
    assert (tmp_path / "rank-0.out").read_bytes() == b"0123456789"


def test_lines_that_the_missing_middle_cuts_are_left_out() -> None:
    assert decoded([b"one\ntwo 1", b"2 three\nfour\n"]) == "one\nfour\n"
    assert decoded([b"no end", b"no beginning"]) == ""
    wide = ["rate: 1\ncut".encode("utf-16"), "off\nrate: 2".encode("utf-16-le")]
    assert decoded(wide) == "rate: 1\nrate: 2"
    assert decoded([]) == ""
