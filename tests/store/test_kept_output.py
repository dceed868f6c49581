"""Reading of kept output: by attempt and rank, also of files that a killed writer left, and of hostile ones."""

from __future__ import annotations

import dataclasses
import gzip
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from hpcbench.core.metrics import kept_output as form
from hpcbench.core.metrics.error import MetricError
from hpcbench.core.metrics.kept_output import AttemptKey, Head, Part, packed
from hpcbench.store import kept_output
from hpcbench.store.kept_output import KeptOutput, outputs
from hpcbench.store.workspace import SweepPaths

KEY = AttemptKey("job-1", 0, "job-1", 1, "2026-01-01T00:00:00.000+00:00")
LATER = KEY._replace(started_at="2026-01-02T00:00:00.000+00:00")


def entry(content: bytes, key: AttemptKey = KEY, **given: Any) -> bytes:
    named = {} if "file" in given else {"rank": 0, "stream": "standard"}
    fields = {"case": "c", "run": 1, "offset": 0, "bytes": len(content), "complete": True, **named, **given}
    return packed(Head(**key._asdict(), **fields), content)


@pytest.fixture
def file(paths: SweepPaths) -> Path:
    path = paths.output / "job-1" / "local.txt.gz"
    path.parent.mkdir(parents=True)
    return path


def read(paths: SweepPaths) -> dict[AttemptKey, KeptOutput]:
    return {output.key: output for output in outputs(paths)}


def texts(output: KeptOutput, rank: int = 0, *, errors: bool = False) -> list[str]:
    return [text.content for text in output.texts(rank, errors)]


def test_output_is_found_by_attempt_rank_and_stream(paths: SweepPaths, file: Path) -> None:
    file.write_bytes(
        entry(b"one\n")
        + entry(b"of the second attempt\n", LATER)
        + entry(b"wrong\n", stream="error")
        + entry(b"two\n", rank=1)
        + entry(b"a,b\n", file="m.csv")
    )
    found = read(paths)
    assert list(found) == [KEY, LATER]
    assert texts(found[KEY], errors=True) == ["one\n", "wrong\n"]
    assert texts(found[KEY], 1) == ["two\n"]
    assert found[KEY].file_text("m.csv") == "a,b\n"
    assert (found[KEY].ranks, texts(found[LATER])) == ([0, 1], ["of the second attempt\n"])
    assert not list(outputs(paths, batches={"job-2"}))


def test_a_gap_is_reported_and_lines_at_it_are_left_out(paths: SweepPaths, file: Path) -> None:
    file.write_bytes(entry(b"tail\nend\n", offset=2**20) + entry(b"begin\ncut"))
    (text,) = read(paths)[KEY].texts(0, with_errors=False)
    assert text.content == "begin\nend\n"
    assert text.gap == "1.0 MiB in the middle of the output of rank 0 was not searched"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (entry(b"x", complete=False), "the output of rank 0 is incomplete"),
        (entry(b"x", stream="error"), "hpcbench did not keep the output of rank 0: all output of the run exceeds 256"),
    ],
)
def test_incomplete_output_is_an_error(content: bytes, message: str, paths: SweepPaths, file: Path) -> None:
    file.write_bytes(content)
    with pytest.raises(MetricError, match=message):
        read(paths)[KEY].texts(0, with_errors=False)


def test_files_that_are_missing_or_too_large_are_errors(paths: SweepPaths, file: Path) -> None:
    file.write_bytes(entry(b"x", file="large.csv", complete=False))
    output = read(paths)[KEY]
    with pytest.raises(MetricError, match=r"the file large\.csv is too large"):
        output.file_text("large.csv")
    with pytest.raises(MetricError, match=r"the file m\.csv was not kept; kept files: large\.csv"):
        output.file_text("m.csv")


@pytest.mark.parametrize("cut", [1, 9, 40, -9, -1])
def test_an_entry_that_a_killed_writer_left_is_skipped_and_later_ones_are_read(
    cut: int, paths: SweepPaths, file: Path
) -> None:
    torn = entry(random.Random(1).randbytes(3000), LATER)[:cut]
    file.write_bytes(entry(b"first\n") + torn)
    assert list(read(paths)) == [KEY]
    file.write_bytes(entry(b"first\n") + torn + entry(b"wrong\n", stream="error"))
    assert texts(read(paths)[KEY], errors=True) == ["first\n", "wrong\n"]


def test_output_that_was_written_twice_counts_once(paths: SweepPaths, file: Path) -> None:
    file.write_bytes(entry(b"same\n") * 2)
    assert texts(read(paths)[KEY]) == ["same\n"]


@pytest.mark.parametrize(
    "line",
    [b"", b"{}", b"[1]", b'{"case": 1}', b"[" * 60000, b"{" + b" " * 10**6, b"\xff", b'{"bytes": 1e999}'],
)
def test_entries_that_hpcbench_does_not_write_are_skipped(line: bytes, paths: SweepPaths, file: Path) -> None:
    file.write_bytes(gzip.compress(line + b"\nx\n") + entry(b"good\n"))
    assert texts(read(paths)[KEY]) == ["good\n"]


@pytest.mark.parametrize("given", [{"bytes": -1}, {"offset": -1}, {"rank": None}, {"stream": None}, {"file": "x"}])
def test_a_description_without_meaning_is_skipped(given: dict[str, Any], paths: SweepPaths, file: Path) -> None:
    head = Head(**KEY._asdict(), case="c", run=1, offset=0, bytes=1, complete=True, rank=0, stream="standard")
    file.write_bytes(packed(dataclasses.replace(head, **given), b"x"))
    assert not read(paths)


def test_a_file_with_many_damaged_entries_is_given_up(paths: SweepPaths, file: Path) -> None:
    file.write_bytes(gzip.compress(b"x") * (kept_output.MOST_DAMAGED + 1) + entry(b"good\n"))
    assert not read(paths)
    file.write_bytes(gzip.compress(b"x") * (kept_output.MOST_DAMAGED - 1) + entry(b"good\n"))
    assert read(paths)


def test_a_large_entry_takes_no_memory_until_its_text_is_needed(paths: SweepPaths, file: Path) -> None:
    bomb = entry(bytes(200 * 2**20), LATER, bytes=100)  # 200 KB compressed, and more than its description tells
    file.write_bytes(bomb + entry(b"good\n"))
    tracemalloc.start()
    try:
        found = read(paths)
        assert texts(found[KEY]) == ["good\n"]
        assert found[LATER].parts(0, "standard") == [Part(0, bytes(100))]
        assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    finally:
        tracemalloc.stop()


def test_every_entry_has_a_readable_first_line(file: Path) -> None:
    file.write_bytes(entry(b"x\n"))
    line = gzip.decompress(file.read_bytes()).splitlines()[0]
    assert form.parsed_head(line).key == KEY
    assert b"file" not in line
