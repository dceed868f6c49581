"""Read the data of the predictor: folders and files in the formats of docs/reference/predictor-data.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from hpcbench.collect.predictor_data.folder import find_tables
from hpcbench.collect.predictor_data.table_file import SUFFIXES, read_table
from hpcbench.errors import UserError
from hpcbench.predict.sets.data_set import DataSet, merged, rows_to_predict, rows_to_train_on
from hpcbench.predict.sets.formats import format_of, known_names
from hpcbench.util.console import print_warning


def training_data(paths: Sequence[Path]) -> DataSet:
    """Return the rows to train on of folders and files, merged.

    Print a warning for tables with unknown names. Raise UserError for invalid data.
    """
    return merged(*(rows_to_train_on(_tables(path)) for path in paths))


def data_to_predict(folder: Path) -> DataSet:
    """Return all rows of a folder. Print a warning for tables with unknown names. Raise UserError for invalid data."""
    return rows_to_predict(_tables(folder))


def _tables(path: Path) -> dict[str, pd.DataFrame]:
    """Return the tables of a folder, or of one file, by the names of the files."""
    if not path.exists():
        raise UserError(f"'{path}' not found", hint="name a folder or a table of measurements")
    if path.is_file():
        return {path.name: _known_table(path)}
    found = find_tables(path, lambda stem: format_of(stem) is not None)
    for name in found.unknown:
        print_warning(f"{path / name} is not read: its name begins with none of {known_names()}")
    tables = {each.name: _known_table(each) for each in found.known}
    if not any(_has_targets(name) for name in tables):
        what = "no tables of operators or networks"
        raise UserError(what, where=str(path), hint=f"name the tables {known_names()}, as .parquet or .csv")
    return tables


def _known_table(path: Path) -> pd.DataFrame:
    if path.suffix not in SUFFIXES or format_of(path.stem) is None:
        hint = f"use a table named {known_names()}, as .parquet or .csv"
        raise UserError("not a table with a known name", where=str(path), hint=hint)
    return read_table(path)


def _has_targets(name: str) -> bool:
    found = format_of(Path(name).stem)
    return found is not None and bool(found.targets)
