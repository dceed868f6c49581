"""A progress bar for operations that may take long. A terminal shows it only after some time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from hpcbench.util.console import err

PATIENCE_S = 2.0  # shorter operations need no progress bar
REDRAW_S = 0.2


@contextmanager
def shown_after_a_while(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that takes the numbers of finished and of all items, and shows them after a while."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    bar = Progress(*columns, console=err, transient=True, auto_refresh=False)
    task = bar.add_task(what, total=None)
    draw_at = time.monotonic() + PATIENCE_S if err.is_terminal else math.inf

    def report(done: int, of: int) -> None:
        nonlocal draw_at
        if time.monotonic() >= draw_at:
            draw_at = time.monotonic() + REDRAW_S
            bar.start()
            bar.update(task, completed=done, total=of)
            bar.refresh()

    try:
        yield report
    finally:
        if bar.live.is_started:
            bar.stop()
