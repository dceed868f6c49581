"""The line on rows that a table leaves out."""

from __future__ import annotations

from rich.console import Console

from hpcbench.util.text import plural


def print_omitted(count: int, console: Console, file: str, what: str = "") -> None:
    """Print how many rows are left out, if any; `what` is a row, `file` the option that writes all."""
    if count > 0:
        more = plural(count, f"more {what}") if what else f"{count:,} more"
        console.print(f"... and {more}: show all with --top, or in the file of {file}")
