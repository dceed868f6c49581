"""CSV and Parquet files: what is read back, and that a file is whole or not there."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from hpcbench.errors import UserError
from hpcbench.report.export import csv_parquet
from hpcbench.report.export.atomic_files import write_text

MakeCases = Callable[..., pd.DataFrame]
Write = Callable[[pd.DataFrame, str], None]

NASTY = 'it said "no",\nthen; ended $(rm -rf /) \u00e9\u6f22 [red]'
WRITERS = [pytest.param(csv_parquet.write_csv, id="csv"), pytest.param(csv_parquet.write_parquet, id="parquet")]


@pytest.fixture
def cases(make_cases: MakeCases) -> pd.DataFrame:
    return make_cases({"intra_op_threads": 4}, {"time_median_s": 0.1 + 0.2}, {"status": "failed", "error": NASTY})


def test_csv_reads_back_as_it_was(tmp_path: Path, cases: pd.DataFrame) -> None:
    target = tmp_path / "cases.csv"
    csv_parquet.write_csv(cases, str(target))
    back = pd.read_csv(target, dtype={name: "Int64" for name in cases if cases[name].dtype == "Int64"})
    assert list(back.columns) == list(cases.columns)
    for name in cases:
        mine, theirs = cases[name], back[name]
        assert (mine.isna() == theirs.isna()).all(), name
        assert [v for v in mine if not pd.isna(v)] == [v for v in theirs if not pd.isna(v)], name


def test_parquet_reads_back_equal(tmp_path: Path, cases: pd.DataFrame) -> None:
    target = tmp_path / "cases.parquet"
    csv_parquet.write_parquet(cases, str(target))
    pd.testing.assert_frame_equal(pd.read_parquet(target), cases)


@pytest.mark.parametrize("values", [[1, "one"], [True, "yes"], [1.5, "x", None]])
def test_a_tag_of_several_types_can_be_written_as_parquet(
    tmp_path: Path, make_cases: MakeCases, values: list[Any]
) -> None:
    cases = make_cases(*({"param_kind": value} for value in values))
    csv_parquet.write_parquet(cases, str(tmp_path / "cases.parquet"))
    assert len(pd.read_parquet(tmp_path / "cases.parquet")) == len(values)


def test_csv_goes_to_stdout_for_a_dash(
    cases: pd.DataFrame, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    csv_parquet.write_csv(cases, "-")
    said = capsys.readouterr()
    assert list(pd.read_csv(io.StringIO(said.out))["case"]) == list(cases["case"])
    assert said.err == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("is_terminal", [True, False])
def test_on_stdout_only_a_terminal_gets_other_characters_than_a_file(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    """A stdout that only says that it is a terminal."""
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(stdout, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stdout", stdout)
    csv_parquet.write_csv(pd.DataFrame({"tag\x1b[1m": ["\x1b[31mred", "\u6f22"], "n": [1, 2]}), "-")
    exact = "tag\x1b[1m,n\n\x1b[31mred,1\n\u6f22,2\n"
    assert stdout.buffer.getvalue().decode() == (exact.replace("\x1b", "?") if is_terminal else exact)


def test_text_on_stdout_is_utf8_and_comes_after_what_was_printed_before(monkeypatch: pytest.MonkeyPatch) -> None:
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", stdout)
    stdout.write("before\n")
    write_text("\u6f22\n", "-")
    assert stdout.buffer.getvalue().decode() == "before\n\u6f22\n"


@pytest.mark.parametrize("write", WRITERS)
def test_a_mistyped_folder_is_told_and_not_made(tmp_path: Path, cases: pd.DataFrame, write: Write) -> None:
    with pytest.raises(UserError, match="cannot be written"):
        write(cases, str(tmp_path / "a" / "b" / "table"))
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("write", WRITERS)
def test_nothing_is_left_beside_the_file(tmp_path: Path, cases: pd.DataFrame, write: Write) -> None:
    write(cases, str(tmp_path / "table"))
    write(cases, str(tmp_path / "table"))
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


@pytest.mark.parametrize(
    ("write", "method"),
    [(csv_parquet.write_csv, "to_csv"), (csv_parquet.write_parquet, "to_parquet")],
    ids=["csv", "parquet"],
)
@pytest.mark.parametrize("stop", [OSError(28, "No space left on device"), KeyboardInterrupt(), ValueError("odd")])
def test_a_file_that_cannot_be_written_to_its_end_leaves_the_old_one_as_it_was(
    tmp_path: Path,
    cases: pd.DataFrame,
    monkeypatch: pytest.MonkeyPatch,
    write: Write,
    method: str,
    stop: BaseException,
) -> None:
    target = tmp_path / "table"
    target.write_text("the old one")

    def half(frame: pd.DataFrame, path: Path, **_: Any) -> None:
        Path(path).write_text("half a tab")
        raise stop

    monkeypatch.setattr(pd.DataFrame, method, half)
    expected = UserError if isinstance(stop, OSError) else type(stop)
    with pytest.raises(expected):
        write(cases, str(target))
    assert target.read_text() == "the old one"
    assert [path.name for path in tmp_path.iterdir()] == ["table"]


@pytest.mark.parametrize("write", WRITERS)
def test_the_file_is_not_there_before_it_is_whole(
    tmp_path: Path, cases: pd.DataFrame, monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    target = tmp_path / "table"
    seen = []
    real = Path.replace

    def watch(self: Path, other: Path) -> Path:
        seen.append((self.stat().st_size > 0, target.exists()))
        return real(self, other)

    monkeypatch.setattr(Path, "replace", watch)
    write(cases, str(target))
    assert seen == [(True, False)]
    assert target.stat().st_size > 0


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("kind", ["a folder", "below a file"])
def test_a_target_that_is_no_file_is_a_mistake_that_names_it(
    tmp_path: Path, cases: pd.DataFrame, write: Write, kind: str
) -> None:
    target = tmp_path / "x"
    if kind == "a folder":
        target.mkdir()
        (target / "kept").write_text("")
    else:
        target.write_text("")
        target = target / "table"
    with pytest.raises(UserError) as refused:
        write(cases, str(target))
    assert str(target) in str(refused.value)
    assert ("is a directory" if kind == "a folder" else "cannot be written") in str(refused.value)


@pytest.mark.parametrize("write", WRITERS)
def test_the_root_folder_is_a_mistake_like_any_other_folder(cases: pd.DataFrame, write: Write) -> None:
    with pytest.raises(UserError, match="'/' is a directory"):
        write(cases, "/")


def test_a_pipe_or_device_is_written_to_and_not_replaced(tmp_path: Path, cases: pd.DataFrame) -> None:
    # the device, and `--csv /dev/stdout` and `--csv >(gzip)` do not work for anyone.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []

    def reader() -> None:
        handle = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            done.wait(timeout=10)
            read.append(os.read(handle, 65536).decode())
        finally:
            os.close(handle)

    done, thread = threading.Event(), threading.Thread(target=reader)
    thread.start()
    try:
        csv_parquet.write_csv(cases, str(pipe))
    finally:
        done.set()
        thread.join()
    assert pipe.is_fifo()
    assert read[0].startswith("sweep,case,")


def test_a_link_still_points_to_the_file_that_was_written(tmp_path: Path, cases: pd.DataFrame) -> None:
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    link.symlink_to(real)
    csv_parquet.write_csv(cases, str(link))
    assert link.is_symlink()
    assert real.read_text().startswith("sweep,case,")
