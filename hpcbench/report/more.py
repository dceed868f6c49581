"""A line on a terminal for what was left out of a table that would be too long."""

from __future__ import annotations

from rich.console import Console


def say_more(count: int, console: Console, file: str, what: str = "") -> None:
    """Of `count` rows, if there are any; `file` is the option that writes them all."""
    if count > 0:
        console.print(f"... and {count:,} more{what and f' {what}'}: see them all with --top, or in the file of {file}")
