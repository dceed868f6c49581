"""CSV files as a zip group of an experiment: each row is a point, and each column an axis.

The files are read before the experiment is checked, so that all later steps see lists of values. The document keeps
the texts of the files, which a sweep stores, and the line of each row, which errors name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from hpcbench.config.expressions import is_expression, names_in
from hpcbench.config.matrix.axes import UNSET
from hpcbench.config.matrix.csv_file import CsvError, CsvFile, CsvTable, parse_csv, read_text
from hpcbench.config.matrix.row_filter import columns_used, matching_rows
from hpcbench.config.parameters import NAMES
from hpcbench.config.schema_location import KeyPath
from hpcbench.config.validation.common_mistakes import canonical
from hpcbench.config.validation.findings import Findings
from hpcbench.config.workload.nested import DOTTED, NESTED, is_known
from hpcbench.config.yaml_document import Document, Model, dotted
from hpcbench.core.frameworks import OPERATOR
from hpcbench.errors import UserError, is_misspelt
from hpcbench.models.operators.catalog import OPERATORS, sizes_of
from hpcbench.util.text import in_list

_SIZES = frozenset(size for operator in OPERATORS for size in sizes_of(operator))
Locate = Callable[[str], Path]  # the path of a file, by its path in the experiment


class CsvGroup(Model):
    """A zip group that is a CSV file, such as `{file: shapes.csv, where: {set: small}}`, or a list of CSV files."""

    file: str | list[str] = Field(
        description="CSV file with a header, relative to the workspace; the rows of a list of files follow one another"
    )
    where: dict[str, Any] | str | None = Field(
        default=None, description='rows to use: values to match by column, or a "{{ condition }}" over the columns'
    )

    @field_validator("where")
    @classmethod
    def _condition(cls, value: dict[str, Any] | str | None) -> dict[str, Any] | str | None:
        if isinstance(value, str) and not is_expression(value):
            raise ValueError('it is not a condition; write "{{ CONDITION }}", or the values to match: {column: value}')
        return value

    @property
    def files(self) -> list[str]:
        """Return the names of the files."""
        return [self.file] if isinstance(self.file, str) else self.file


@dataclass(frozen=True)
class CsvRows:
    """The rows of CSV files that are a zip group of a document."""

    group: int  # index of the group
    texts: Mapping[str, str]  # of the whole files, by their names in the experiment
    places: list[str]  # of the rows, e.g. `shapes.csv:2`
    warnings: tuple[str, ...]


def is_csv_group(group: Any) -> bool:
    """Return whether a zip group is CSV files: `file` is a text, or a list of texts without an axis next to it.

    With an axis next to it, a list is the axis of a user parameter.
    """
    file = group.get("file") if isinstance(group, dict) else None
    names = file if isinstance(file, list) and group.keys() <= CsvGroup.model_fields.keys() else [file]
    return bool(names) and all(isinstance(name, str) for name in names)


def with_csv_files(document: Document, locate: Locate) -> Document:
    """Return the document with lists of values for each zip group of CSV files.

    Apply `--set` before. Raise UserError, located in the file or the experiment, if a file cannot be used.
    """
    zipped = document.data.get("zip")
    if not isinstance(zipped, list) or not any(map(is_csv_group, zipped)):
        return document
    reader = _Reader(document, locate)
    groups = [reader.axes(index) if is_csv_group(group) else group for index, group in enumerate(zipped)]
    data = {**document.data, "zip": groups}
    return replace(document, data=data, places=reader.places, csv_rows=tuple(reader.found))


class _Reader:
    """Reads the CSV files of a document, each once."""

    def __init__(self, document: Document, locate: Locate) -> None:
        self.document = document
        self.locate = locate
        self.places = dict(document.places)
        self.found: list[CsvRows] = []
        self._own = _own_names(document.data)
        self._set = _names_set(document)
        self._has_operators = _has_operators(document.data)
        self._files: dict[str, CsvFile] = {}

    def axes(self, index: int) -> dict[str, list[Any]]:
        """Return the axes of a group, and note its rows and the places of its columns."""
        path: KeyPath = ("zip", index)
        findings = Findings(self.document)
        group = findings.checked(findings.validated(CsvGroup, self.document.data["zip"][index], path))
        try:
            return self._read(group, index)
        except CsvError as error:
            key = (*path, *self._key(error, group))
            where = f"{error.file}:{error.line}: {dotted(key)}" if error.line else self.document.where(key)
            raise UserError(error.what, where=where, hint=error.hint) from error

    @staticmethod
    def _key(error: CsvError, group: CsvGroup) -> KeyPath:
        """Return the key of an error in a group, for an error of a whole file with its index in a list of files."""
        is_in_list = isinstance(group.file, list) and error.file and not error.line
        return (error.key, group.files.index(error.file)) if is_in_list else (error.key,)

    def _read(self, group: CsvGroup, index: int) -> dict[str, list[Any]]:
        files = {name: self._file(name) for name in group.files}
        table = CsvTable.of(files)
        names = [name for name in table.columns if self._is_axis(name)]
        used = columns_used(group.where, table.columns) if group.where is not None else set()
        unused = [name for name in table.columns if name not in {*names, *used}]
        self._check_misspelt(table, unused)
        if not names:
            hints = [hint for name in unused if (hint := self._similar(name))]
            own = "to use a column of your own, list it in user_parameters"
            file, line = next(iter(table.headers.values()))
            raise CsvError("no column is a parameter", line, "\n".join([*hints, own]), file=file)
        rows = matching_rows(table, group.where) if group.where is not None else list(range(len(table.lines)))
        warnings = tuple(self._warnings(files, unused))
        texts = {name: file.text for name, file in files.items()}
        self.found.append(CsvRows(index, texts, [_place(table.lines[row]) for row in rows], warnings))
        free = [name for name in names if not self._is_set(name)]
        self._note(index, {name: _place(table.headers[name]) for name in free})
        return {name: [table.columns[name][row] if name in free else UNSET for row in rows] for name in names}

    def _file(self, name: str) -> CsvFile:
        if name not in self._files:
            try:
                self._files[name] = parse_csv(read_text(self.locate(name)))
            except CsvError as error:
                error.file = name
                raise
        return self._files[name]

    def _is_axis(self, column: str) -> bool:
        """Return whether a column is a parameter, or an expression uses it: if it is not declared, that is an error."""
        return column in NAMES or is_known(column) or column.partition(".")[0] in self._own

    def _is_set(self, column: str) -> bool:
        """Return whether `--set` sets a column, or the mapping that contains it. Then no row sets it."""
        return any(column == name or column.startswith(f"{name}.") for name in self._set)

    def _note(self, index: int, columns: Mapping[str, str]) -> None:
        """Replace the places of the keys in a group by those of its columns."""
        path: KeyPath = ("zip", index)
        self.places = {key: place for key, place in self.places.items() if key[:2] != path or key == path}
        self.places.update({(*path, name): place for name, place in columns.items()})

    def _similar(self, column: str) -> str:
        if self._has_operators and column in _SIZES:
            return f"did you mean 'sizes.{column}'?"
        known = {*NAMES, *DOTTED, *self._own}
        meant = next((name for name in (canonical(column), *sorted(known)) if _is_near(column, name, known)), None)
        return f"did you mean '{meant}'?" if meant else ""

    @staticmethod
    def _check_misspelt(table: CsvTable, unused: Sequence[str]) -> None:
        """Raise CsvError for a dotted name whose first part is misspelt: no other column has such a name by chance."""
        for name in unused:
            root, dot, key = name.partition(".")
            meant = next((each for each in NESTED if dot and is_misspelt(root, each)), None)
            if meant:
                file, line = table.headers[name]
                hint = f"did you mean '{meant}.{key}'?"
                raise CsvError(f"column '{name}' is not a parameter", line, hint, name, file)

    def _warnings(self, files: Mapping[str, CsvFile], unused: Sequence[str]) -> Iterator[str]:
        """Yield a warning about the columns without effect that the same files have."""
        found: dict[tuple[str, ...], list[str]] = {}
        for column in unused:
            found.setdefault(tuple(name for name, file in files.items() if column in file.columns), []).append(column)
        for names, columns in found.items():
            yield self._warning(names, columns)

    def _warning(self, files: Sequence[str], unused: Sequence[str]) -> str:
        """Return a warning about columns of files that have no effect."""
        shown = [f"'{name}'" + (f" ({hint})" if (hint := self._similar(name)) else "") for name in unused]
        where = in_list(files)
        if len(unused) == 1:
            why = "it is not a parameter, and `where` does not use it; to keep it, add it to user_parameters"
            return f"{where}: column {shown[0]} is ignored: {why}"
        why = "they are not parameters, and `where` does not use them; to keep them, add them to user_parameters"
        return f"{where}: columns {in_list(shown)} are ignored: {why}"


def _place(line: tuple[str, int]) -> str:
    return f"{line[0]}:{line[1]}"


def _is_near(column: str, name: str, known: Collection[str]) -> bool:
    """Return whether a column is probably this parameter, written in another way or with a mistake."""
    return name in known and (name == canonical(column) or is_misspelt(column, name))


def _own_names(data: Mapping[str, Any]) -> set[str]:
    """Return the user parameters of an experiment, and the names in its expressions, except those of `where`."""
    declared = data.get("user_parameters")
    names = {name for name in declared if isinstance(name, str)} if isinstance(declared, list) else set()
    waiting: list[Any] = [data]
    while waiting:
        value = waiting.pop()
        names |= names_in(value) if isinstance(value, str) else set()
        if isinstance(value, dict) and not is_csv_group(value):
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return names


def _has_operators(data: Mapping[str, Any]) -> bool:
    """Return whether an experiment measures operators."""
    sections = (data.get("parameters"), data.get("matrix"))
    tasks = [section["task"] for section in sections if isinstance(section, dict) and "task" in section]
    return any(task == OPERATOR or (isinstance(task, list) and OPERATOR in task) for task in tasks)


def _names_set(document: Document) -> set[str]:
    """Return the parameters that `--set` sets."""
    by_set = (key for key, place in document.places.items() if place.startswith("--set "))
    return {str(key[1]) for key in by_set if key[0] == "parameters" and len(key) > 1}
