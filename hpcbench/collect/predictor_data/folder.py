"""The tables of a folder that have known names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hpcbench.collect.predictor_data.table_file import SUFFIXES
from hpcbench.errors import UserError


@dataclass(frozen=True)
class FoundTables:
    """The tables of a folder: those with known names, and the names of the others."""

    known: tuple[Path, ...]
    unknown: tuple[str, ...]


def find_tables(folder: Path, is_known: Callable[[str], bool]) -> FoundTables:
    """Return the Parquet and CSV files of a folder by name, without those of its subfolders.

    `is_known` takes a name without its suffix. Raise UserError if the folder does not exist, or if two known files
    differ in the suffix only.
    """
    if not folder.is_dir():
        raise UserError("directory not found" if not folder.exists() else "not a directory", where=str(folder))
    tables = sorted(path for path in folder.iterdir() if path.suffix in SUFFIXES and path.is_file())
    known = [path for path in tables if is_known(path.stem)]
    stems = [path.stem for path in known]
    if twice := [stem for stem in stems if stems.count(stem) > 1]:
        what = f"{twice[0]}.parquet and {twice[0]}.csv are the same table"
        raise UserError(what, where=str(folder), hint="remove one of the two files")
    return FoundTables(tuple(known), tuple(path.name for path in tables if path not in known))
