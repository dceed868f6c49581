"""CSV files: values, lines of rows, and mistakes."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.config.expressions import LiteralText, is_expression
from hpcbench.config.matrix import csv_file
from hpcbench.config.matrix.axes import UNSET
from hpcbench.config.matrix.csv_file import CsvError, parse_csv, read_text


def error_of(text: str) -> CsvError:
    with pytest.raises(CsvError) as caught:
        parse_csv(text)
    return caught.value


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("7860", 7860),
        ("-3", -3),
        ("0.95", 0.95),
        ("1e-3", 0.001),
        ("false", False),
        ("true", True),
        ("null", None),
        ("", UNSET),
        ("  ", UNSET),
        (" a b ", "a b"),
        ('"a, b"', "a, b"),
        (' "a, b"', "a, b"),
        ('"say ""hi"""', 'say "hi"'),
        ('"two\nlines"', "two\nlines"),
        ("00:10:00", "00:10:00"),
        ("grün", "grün"),
        ("nan", "nan"),
    ],
)
def test_a_cell_is_a_plain_scalar_of_yaml(cell: str, value: Any) -> None:
    (found,) = parse_csv(f"a,b\n{cell},1\n").columns["a"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("text", ["{{ nodes }}", "a {{ b }}", "{% if x %}"])
def test_a_cell_is_never_an_expression(text: str) -> None:
    (found,) = parse_csv(f"a,b\n{text},1\n").columns["a"]
    assert (found, type(found), is_expression(found)) == (text, LiteralText, False)
    assert is_expression(str(text)), "the same text in an experiment is one"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_each_row_has_the_line_in_which_it_begins(end: str) -> None:
    found = parse_csv(end.join(["", "a,b", "1,2", '"x', 'y",3', "", "4,5"]))
    assert (found.header_line, found.lines) == (2, [3, 4, 7])
    assert found.columns == {"a": [1, f"x{end}y", 4], "b": [2, 3, 5]}


@pytest.mark.parametrize(
    ("text", "what", "line", "key"),
    [
        ("", "the file is empty", None, "file"),
        ("\n\n", "the file is empty", None, "file"),
        ("a,b\n", "the file has no rows", 1, "file"),
        ("64,16,64\n64,16,32\n", "the first line has only numbers", 1, "file"),
        ("\n-1\n2\n", "the first line has only numbers", 2, "file"),
        ("1e3,.5,+2.,16\n1,2,3,4\n", "the first line has only numbers", 1, "file"),
        ("64,,16\n1,2,3\n", "column 2 has no name", 1, "file"),
        ("a,,b\n1,2,3\n", "column 2 has no name", 1, "file"),
        ("a,b, a\n1,2,3\n", "duplicate column 'a'", 1, "a"),
        ("a,b\n1,2\n\n3\n", "the row has 1 cell, and the header has 2 columns", 4, "file"),
        ("a,b\n1,2,3\n", "the row has 3 cells, and the header has 2 columns", 2, "file"),
        ("a;b\n1;2\n", "the columns are separated by ';'", 1, "file"),
        ("a\tb\n1\t2\n", "the columns are separated by '\\t'", 1, "file"),
        ('a,b\n1,2\n"3,4\n', "not valid CSV: unexpected end of data", 3, "file"),
        ('a,b\n"1"2,3\n', "not valid CSV: ',' expected after '\"'", 2, "file"),
        ("a,b\n1,2\n3,\0\n", "the file contains a NUL character", 3, "file"),
        ("a,b\n1,1e999\n", "1e999 is too large a number", 2, "b"),
    ],
)
def test_a_mistake_has_its_line_and_column(text: str, what: str, line: int | None, key: str) -> None:
    found = error_of(text)
    assert (found.what, found.line, found.key) == (what, line, key)


def test_a_name_can_begin_with_a_digit() -> None:
    assert list(parse_csv("1,2nd\n3,4\n").columns) == ["1", "2nd"]


def test_the_number_of_rows_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_file, "MAX_ROWS", 2)
    assert len(parse_csv("a\n1\n2\n").lines) == 2
    found = error_of("a\n1\n2\n3\n")
    assert (found.what, found.line) == ("the file has more than 2 rows", 4)


def test_the_size_of_a_file_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    monkeypatch.setattr(csv_file, "MAX_FILE_BYTES", 4)
    assert read_text(tmp_path / "a.csv") == "a\n1\n"
    monkeypatch.setattr(csv_file, "MAX_FILE_BYTES", 3)
    with pytest.raises(CsvError, match="larger than"):
        read_text(tmp_path / "a.csv")


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_a_byte_order_mark_is_not_part_of_the_text(start: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(start + "ü\r\n1\r\n".encode())
    assert read_text(tmp_path / "a.csv") == "ü\r\n1\r\n"


def test_a_file_that_cannot_be_read_has_a_reason(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes("a\n1\nü\n".encode("latin-1"))
    os.mkfifo(tmp_path / "pipe.csv")
    reasons = {
        "latin.csv": "the file is not UTF-8 text",
        "pipe.csv": f"'{tmp_path}/pipe.csv' is not a regular file",
        "none.csv": "CSV file 'none.csv' not found",
        ".": f"'{tmp_path}' is a directory",
    }
    found = {}
    for name in reasons:
        with pytest.raises(CsvError) as caught:
            read_text(tmp_path / name)
        found[name] = caught.value.what
    assert found == reasons


CELLS = st.text(st.characters(exclude_categories=("Cs", "Cc")) | st.sampled_from(',"\n'), max_size=8)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), min_size=1, max_size=6))
def test_what_python_writes_is_read_with_its_lines(rows: list[list[str]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([["a", "b"], *rows])
    found = parse_csv(text.getvalue())
    assert len(found.lines) == len(rows)
    begins = 2
    for index, row in enumerate(rows):
        assert found.lines[index] == begins
        begins += 1 + sum(cell.count("\n") for cell in row)
        for name, cell in zip("ab", row, strict=True):
            value = found.columns[name][index]
            assert value == cell.strip() if isinstance(value, str) else str(cell).strip() != value
