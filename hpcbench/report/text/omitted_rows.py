"""A line on a terminal for what was left out of a table that would be too long."""

from __future__ import annotations

from rich.console import Console

from hpcbench.util.text import plural


def say_more(count: int, console: Console, file: str, what: str = "") -> None:
    """Of `count` rows, if there are any; `what` is one of them, `file` the option that writes them all."""
    if count > 0:
        more = plural(count, f"more {what}") if what else f"{count:,} more"
        console.print(f"... and {more}: see them all with --top, or in the file of {file}")
