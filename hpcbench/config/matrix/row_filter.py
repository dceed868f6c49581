"""The key `where` of a zip group: which rows of its CSV files are points."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from hpcbench.config.expressions import ExpressionError, Resolver, names_in
from hpcbench.config.matrix.axes import UNSET
from hpcbench.config.matrix.csv_file import CsvError, CsvTable
from hpcbench.config.workload.nested import NotAMappingError, folded
from hpcbench.errors import nearest
from hpcbench.util.limits import OutOfTimeError, deadline

MAX_S = 30.0  # for the expressions of all rows
_MOST_SHOWN = 5
_WHERE = "where"

Where = Mapping[str, Any] | str


def columns_used(where: Where, columns: Collection[str]) -> set[str]:
    """Return the columns that a condition uses. `sizes.m` is used by an expression that contains `sizes`."""
    if isinstance(where, str):
        names = names_in(where)
        return {name for name in columns if name.partition(".")[0] in names}
    return where.keys() & set(columns)


def matching_rows(table: CsvTable, where: Where) -> list[int]:
    """Return the indices of the rows that match. Raise CsvError for a wrong condition, and if no row matches."""
    _check(table, where)
    try:
        with deadline(MAX_S):
            used = sorted(columns_used(where, table.columns))
            found = [index for index in range(len(table.lines)) if _matches(table, index, where, used)]
    except OutOfTimeError as error:
        raise CsvError(f"the condition cannot be evaluated: {error}", hint="simplify it", key=_WHERE) from error
    if not found:
        shown = "\n".join(f"values of {name}: {_values(table, name)}" for name in used)
        raise CsvError("no row matches", hint=shown, key=_WHERE)
    return found


def _check(table: CsvTable, where: Where) -> None:
    known, names = set(table.columns), set(where)
    if isinstance(where, str):
        roots = (name.partition(".")[0] for name in table.columns)
        known, names = {name for name in roots if name.isidentifier()}, set(names_in(where))
    if unknown := sorted(names - known):
        raise CsvError(f"column '{unknown[0]}' not found", hint=nearest(unknown[0], known), key=_WHERE)


def _matches(table: CsvTable, index: int, where: Where, used: Collection[str]) -> bool:
    row = table.row(index, used)
    if not isinstance(where, str):
        return all(_is_wanted(row[name], wanted) for name, wanted in where.items())
    try:
        return bool(Resolver(folded(row)).value(where, _WHERE))
    except ExpressionError as error:
        file, line = table.lines[index] if used else ("", None)  # without columns, the error is in each row
        raise CsvError(error.what, line, error.hint, _WHERE, file) from error
    except NotAMappingError as error:
        file, line = table.lines[index]
        raise CsvError(str(error), line, f"rename column '{error.name}'", _WHERE, file) from error


def _is_wanted(value: Any, wanted: Any) -> bool:
    """Return whether a value is the wanted one, or one of a list. The number 1 is not `true`."""
    if isinstance(wanted, list):
        return any(_is_wanted(value, each) for each in wanted)
    return bool(value == wanted) and isinstance(value, bool) == isinstance(wanted, bool)


def _values(table: CsvTable, name: str) -> str:
    """Return the first distinct values of a column as text."""
    distinct = list(dict.fromkeys("empty" if cell is UNSET else str(cell) for cell in table.columns[name]))
    return ", ".join(distinct[:_MOST_SHOWN]) + (", ..." if len(distinct) > _MOST_SHOWN else "")
