"""Check the columns of a file before its rows are converted."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.errors import UserError, closest
from hpcbench.predict.sets.columns import get_text
from hpcbench.predict.sets.formats import FORMATS, NUMBERS, OPERATORS, SHAPES, Format
from hpcbench.predict.sets.places import place
from hpcbench.predict.sets.units import in_another_unit
from hpcbench.util.text import in_list

_NAMES, _SEPARATORS = ("device", "dtype"), r"[|\n]"


def checked(file: str, rows: pd.DataFrame, format_: Format) -> pd.DataFrame:
    """Return the rows of a file with its columns of numbers as float64.

    Raise UserError if the file has no rows, if a required column is missing, if a column of numbers has text, or if a
    device or data type has no plain name.
    """
    if rows.empty:
        raise UserError("no rows", where=file, hint="write at least one row, or remove the file")
    for name in _NAMES:
        if name in rows:
            _check_names(file, rows[name])
    missing = [name for name in _required(rows, format_) if name not in rows]
    if missing:
        noun = "column" if len(missing) == 1 else "columns"
        raise UserError(f"missing {noun} {_quoted(missing)}", where=file, hint=_hint(missing, rows))
    return rows.assign(**{name: _numbers(file, rows[name]) for name in rows.columns if name in NUMBERS})


def check_targets(file: str, rows: pd.DataFrame, format_: Format) -> None:
    """Raise UserError if a file to train on has no column of a target."""
    names = [target.column for target in format_.targets]
    if names and not any(name in rows for name in names):
        what = f"no measurements: none of the columns {_quoted(names)}"
        raise UserError(what, where=file, hint=_hint(names, rows))


def misspelt_targets(file: str, rows: pd.DataFrame, format_: Format) -> list[str]:
    """Return a sentence for each column that may be an absent target with another name or unit."""
    missing = [target.column for target in format_.targets if target.column not in rows]
    found = [name for name in map(str, rows.columns) if name not in _known(format_)]
    hints = ((name, _meant(name, missing)) for name in found if missing)
    return [f"{file}: column '{name}' is not read: {hint}" for name, hint in hints if hint]


def _meant(column: str, wanted: list[str]) -> str:
    """Return which wanted column a column of a file may be, in another unit or with another name; may be empty."""
    units = (in_another_unit(column, name) for name in wanted)
    return next((f"it {words}" for words in units if words), "") or closest(column, wanted)


def _known(format_: Format) -> set[str]:
    """Return the columns that are not the target of another format, and have a meaning in this one."""
    targets = {target.column for each in FORMATS for target in each.targets}
    return (set(NUMBERS) - targets) | {target.column for target in format_.targets} | set(_names(format_))


def _names(format_: Format) -> list[str]:
    """Return all required columns; of alternatives, each one."""
    return [name for each in format_.required for name in ([each] if isinstance(each, str) else each)]


def _check_names(file: str, column: pd.Series) -> None:
    """Raise UserError if a name has a character that separates names in the keys of models."""
    text = get_text(column.to_frame(), str(column.name))
    wrong = text.str.contains(_SEPARATORS).to_numpy(dtype=bool)
    if wrong.any():
        row = int(np.argmax(wrong))
        what = f"column '{column.name}' has '|' or a line break in {place(file, row)}: {text.iloc[row][:40]!r}"
        raise UserError(what, where=file, hint="use another name")


def _required(rows: pd.DataFrame, format_: Format) -> list[str]:
    """Return the required columns; of alternatives, the one that exists, otherwise the first."""
    names = [each if isinstance(each, str) else next(iter(_of(each, rows)), each[0]) for each in format_.required]
    if format_.rows == OPERATORS and "op" in rows:
        shapes = [name for op in get_text(rows, "op").unique() for name in SHAPES.get(op, ())]
        names += [name for name in dict.fromkeys(shapes) if name not in names]
    return names


def _of(alternatives: tuple[str, ...], rows: pd.DataFrame) -> list[str]:
    return [name for name in alternatives if name in rows]


def _numbers(file: str, column: pd.Series) -> np.ndarray:
    found = pd.to_numeric(column, errors="coerce")
    wrong = found.isna() & column.notna()
    if wrong.any():
        row = int(np.argmax(wrong.to_numpy()))
        what = f"column '{column.name}' has text in {place(file, row)}: '{str(column.iloc[row])[:40]}'"
        raise UserError(what, where=file, hint="write numbers without units and thousands separators; leave null empty")
    return found.to_numpy(dtype="float64", na_value=np.nan)


def _quoted(names: list[str]) -> str:
    return in_list([f"'{name}'" for name in names])


def _hint(missing: list[str], rows: pd.DataFrame) -> str:
    """Return the columns of the file that may be meant, and the page with the formats."""
    names = list(map(str, rows.columns))
    lines = [f"{name}: {hint}" for name in missing for hint in [_found(name, names)] if hint]
    return "\n".join([*lines, "docs/reference/predictor-data.md lists the columns and units"])


def _found(wanted: str, names: list[str]) -> str:
    """Return which column of a file may be a missing one, in another unit or with another name; may be empty."""
    units = [(name, in_another_unit(name, wanted)) for name in names]
    return next((f"'{name}' {words}" for name, words in units if words), "") or closest(wanted, names)
