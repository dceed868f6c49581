"""Read one table of measurements: Parquet or CSV."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path

import pandas as pd
from pandas.errors import EmptyDataError, ParserWarning

from hpcbench.errors import UserError
from hpcbench.util.extras import install_hint

SUFFIXES = (".parquet", ".csv")


def read_table(path: Path) -> pd.DataFrame:
    """Return the rows of a file, numbered from 0; all columns of CSV are text.

    Raise UserError if it is empty or not a table, if commas do not separate its columns, if a row has more values than
    the header has columns, or if pyarrow is missing.
    """
    if path.suffix == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        what = "Parquet requires pyarrow, which is not installed"
        raise UserError(what, where=str(path), hint=f"{install_hint('predict')}\nor convert the file to CSV")
    try:
        table = pd.read_parquet(path) if path.suffix == ".parquet" else _read_csv(path)
    except OSError as error:
        if error.strerror is None:  # pyarrow raises OSError for contents, too
            raise _unreadable(path, error) from error
        raise
    except EmptyDataError as error:
        raise UserError("the file is empty", where=str(path), hint="write the file again, or remove it") from error
    except (ValueError, UnicodeError) as error:  # parsers of pandas and pyarrow raise subclasses of ValueError
        raise _unreadable(path, error) from error
    if path.suffix == ".csv" and len(table.columns) == 1 and (separator := _other_separator(str(table.columns[0]))):
        what = f"the columns are separated by {separator}"
        raise UserError(what, where=str(path), hint="separate them by commas, with a point as decimal separator")
    return table.reset_index(drop=True)


def _read_csv(path: Path) -> pd.DataFrame:
    """Return the rows of a CSV file. Without `index_col`, longer rows would shift all columns by one."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", ParserWarning)
        try:
            return pd.read_csv(path, dtype=str, index_col=False)
        except ParserWarning as warning:
            what = "a row has more values than the header has columns"
            hint = 'quote values that contain commas: "[2, 3]"'
            raise UserError(what, where=str(path), hint=hint) from warning


def _other_separator(header: str) -> str:
    """Return the name of the separator in the header of a table that has no comma; empty if it has none."""
    return next((name for mark, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "'|'")) if mark in header), "")


def _unreadable(path: Path, error: Exception) -> UserError:
    kind = "Parquet" if path.suffix == ".parquet" else "CSV"
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    hint = "save it as UTF-8" if isinstance(error, UnicodeError) else "write the file again, or remove it"
    return UserError(f"not a {kind} file: {reason}", where=str(path), hint=hint)
