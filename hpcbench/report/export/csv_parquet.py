"""Tables as files: CSV and Parquet."""

from __future__ import annotations

import sys
from typing import Any

import pandas as pd

from hpcbench.report.export.atomic_files import replacing, write_text
from hpcbench.util.text import printable


def write_csv(frame: pd.DataFrame, target: str) -> None:
    """Write a table as CSV to a file, or to stdout for `-`; without control characters if stdout is a terminal.

    Raise UserError if the file cannot be written.
    """
    if target == "-":
        shown = frame.rename(columns=printable).map(_printable) if sys.stdout.isatty() else frame
        write_text(shown.to_csv(index=False), target)
        return
    with replacing(target) as part:
        frame.to_csv(part, index=False)


def _printable(cell: Any) -> Any:
    return printable(cell) if isinstance(cell, str) else cell


def write_parquet(frame: pd.DataFrame, target: str) -> None:
    """Write a table as Parquet to a file. Raise UserError if the file cannot be written."""
    plain = frame.copy()
    for name in plain.columns:  # a user parameter may have numbers and texts, but a Parquet column has one type
        if plain[name].dtype == object and len({type(value) for value in plain[name].dropna()}) > 1:
            plain[name] = plain[name].map(str, na_action="ignore")
    with replacing(target) as part:
        plain.to_parquet(part, index=False)
