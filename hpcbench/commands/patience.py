"""A bar for what may take long: drawn on a terminal, once it has taken so long that somebody may wonder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from hpcbench.commands.common import err

PATIENCE_S = 2.0  # what is done sooner needs no progress bar
REDRAW_S = 0.2


@contextmanager
def shown_after_a_while(what: str) -> Iterator[Callable[[int, int], None]]:
    """To be told how much is done, and of how much."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    draw_at = time.monotonic() + PATIENCE_S
    with Progress(*columns, console=err, transient=True, auto_refresh=False, disable=not err.is_terminal) as bar:
        task = bar.add_task(what, total=None)

        def report(done: int, of: int) -> None:
            nonlocal draw_at
            if time.monotonic() >= draw_at:
                draw_at = time.monotonic() + REDRAW_S
                bar.update(task, completed=done, total=of)
                bar.refresh()

        yield report
