"""Where a row of a file is, in words for messages."""

from __future__ import annotations


def place(file: str, row: int) -> str:
    """Return the number of a row from 0, as in tables of predictions; for CSV also its line, without blank lines."""
    line = f" (line {row + 2})" if file.endswith(".csv") else ""  # line 1 is the header
    return f"row {row}{line}"
