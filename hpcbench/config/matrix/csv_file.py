"""Read CSV files (RFC 4180, UTF-8) as columns of plain values, with the file and the line of each row."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcbench.config.expressions import LiteralText, is_expression
from hpcbench.config.matrix.axes import MAX_AXIS_VALUES, UNSET
from hpcbench.config.yaml_document import MAX_FILE_BYTES, plain_value
from hpcbench.util.bounded_read import content
from hpcbench.util.text import plural

MAX_ROWS = MAX_AXIS_VALUES
_OTHER_DELIMITERS = ";\t|"
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")

Row = list[str]


class CsvError(Exception):
    """A CSV file cannot be used: what is wrong, in which line, and what to do.

    `line` is None for the whole file. `key` is the column, or the key of the group, that is wrong. `file` is the name
    of the file, if it is known.
    """

    def __init__(self, what: str, line: int | None = None, hint: str = "", key: str = "file", file: str = "") -> None:
        super().__init__(what)
        self.what, self.line, self.hint, self.key, self.file = what, line, hint, key, file


@dataclass(frozen=True)
class CsvFile:
    """The text of a CSV file, and its values by column; an empty cell is UNSET."""

    text: str
    columns: Mapping[str, Sequence[Any]]
    lines: Sequence[int]  # of the rows
    header_line: int


@dataclass(frozen=True)
class CsvTable:
    """The rows of CSV files, one file after another, by column. A column is UNSET in the rows of a file without it."""

    columns: Mapping[str, Sequence[Any]]
    lines: Sequence[tuple[str, int]]  # of the rows: name of the file, and line
    headers: Mapping[str, tuple[str, int]]  # of the columns: in the first file that has it

    @classmethod
    def of(cls, files: Mapping[str, CsvFile]) -> CsvTable:
        """Return the table of these files, by name."""
        headers: dict[str, tuple[str, int]] = {}
        for name, file in files.items():
            for column in file.columns:
                headers.setdefault(column, (name, file.header_line))
        columns = {
            column: [cell for file in files.values() for cell in file.columns.get(column, [UNSET] * len(file.lines))]
            for column in headers
        }
        return cls(columns, [(name, line) for name, file in files.items() for line in file.lines], headers)

    def row(self, index: int, names: Iterable[str]) -> dict[str, Any]:
        """Return the values of a row in these columns; None for an empty cell."""
        cells = ((name, self.columns[name][index]) for name in names)
        return {name: None if cell is UNSET else cell for name, cell in cells}


def read_text(path: Path) -> str:
    """Return the text of a CSV file, without a byte order mark. Raise CsvError if it cannot be read or is too large."""
    if path.is_dir():
        raise CsvError(f"'{path}' is a directory", hint="name a CSV file")
    if not path.exists():
        raise CsvError(f"CSV file '{path.name}' not found", hint=f"tried {path}; the path is relative to the workspace")
    if not path.is_file():
        raise CsvError(f"'{path}' is not a regular file", hint="name a CSV file")
    try:
        data = content(path)
    except OSError as error:
        raise CsvError(f"the file cannot be read: {error.strerror}", hint=f"check its permissions: {path}") from error
    except ValueError as error:
        raise _too_large() from error
    if len(data) > MAX_FILE_BYTES:
        raise _too_large()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CsvError("the file is not UTF-8 text", line, "save it with the encoding UTF-8") from error


def _too_large() -> CsvError:
    return CsvError(f"the file is larger than {MAX_FILE_BYTES // 10**6} MB", hint="split it into several files")


def parse_csv(text: str) -> CsvFile:
    """Return the columns of a CSV text with a header. Raise CsvError for the first mistake in it."""
    if "\0" in text:
        raise CsvError("the file contains a NUL character", text.count("\n", 0, text.index("\0")) + 1, "remove it")
    rows = _rows(text)
    header_line, header = next(rows, (1, []))
    if not header:
        raise CsvError("the file is empty", hint="write the names of the columns into its first line")
    _check_header(header, header_line)
    columns: dict[str, list[Any]] = {name: [] for name in header}
    lines: list[int] = []
    values: dict[str, Any] = {}
    for line, row in rows:
        if len(row) != len(header):
            what = f"the row has {plural(len(row), 'cell')}, and the header has {plural(len(header), 'column')}"
            raise CsvError(what, line, "add or remove cells, or quote a cell that contains a comma")
        if len(lines) == MAX_ROWS:
            raise CsvError(f"the file has more than {MAX_ROWS:,} rows", line, "split it into several files")
        lines.append(line)
        for name, cell in zip(header, row, strict=True):
            if cell not in values:
                values[cell] = _value(cell, line, name)
            columns[name].append(values[cell])
    if not lines:
        raise CsvError("the file has no rows", header_line, "add a row below the header")
    return CsvFile(text, columns, lines, header_line)


def _rows(text: str) -> Iterator[tuple[int, Row]]:
    """Yield the line and the cells of each row, without the spaces around a cell. Leave out empty lines."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise CsvError(f"not valid CSV: {error}", line, "check the quotes of this row") from error
        if row is None:
            return
        if row:
            yield line, [cell.strip() for cell in row]


def _check_header(header: Row, line: int) -> None:
    other = next((each for each in _OTHER_DELIMITERS if each in header[0]), None)
    if len(header) == 1 and other:
        raise CsvError(f"the columns are separated by {other!r}", line, "separate them by commas")
    if all(map(_NUMBER.fullmatch, header)):
        hint = "is the header missing? write the names of the columns into the first line"
        raise CsvError("the first line has only numbers", line, hint)
    for position, name in enumerate(header, start=1):
        if not name:
            raise CsvError(f"column {position} has no name", line, "name the column, or remove it")
        if name in header[: position - 1]:
            raise CsvError(f"duplicate column '{name}'", line, "remove one of them", name)


def _value(cell: str, line: int, column: str) -> Any:
    """Return the value of a cell: that of a plain YAML scalar, or text that is never an expression."""
    if not cell:
        return UNSET
    try:
        value = plain_value(cell)
    except ValueError as error:
        raise CsvError(str(error), line, key=column) from error
    return LiteralText(value) if is_expression(value) else value
