"""Show the output of the first run of a sweep while it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.text import Text

from hpcbench.store.logs import Follower
from hpcbench.store.workspace import SweepPaths
from hpcbench.util.console import err
from hpcbench.util.text import printable

_POLL_S = 0.5  # more often would take time from what is measured
_OF_DRIVER = "hpcbench: "
_END = "hpcbench: case "  # the last line of a run


@contextmanager
def live_output(paths: SweepPaths) -> Iterator[Callable[[], None]]:
    """Print the output of the first run of a new sweep inside the `with` block, without the lines of hpcbench.

    The value of the block is a function that prints the rest of the output, for when the first run has ended.
    """
    stop = threading.Event()
    follower = threading.Thread(target=_follow, args=(paths.jobs / "logs", stop), daemon=True)
    follower.start()

    def finish() -> None:
        stop.set()
        follower.join()

    try:
        yield finish
    finally:
        finish()


def _follow(logs: Path, stop: threading.Event) -> None:
    """Print the first log that appears until its first run has ended. If `stop` is set, print what is already there."""
    last = False
    while (log := next(logs.glob("*/*_log.out"), None)) is None:
        if last:
            return
        last = stop.wait(_POLL_S)
    for line in _lines(log, stop):
        if line.startswith(_END):
            return
        if not line.startswith(_OF_DRIVER):
            err.print(Text(printable(line), style="dim"), soft_wrap=True)


def _lines(log: Path, stop: threading.Event) -> Iterator[str]:
    """Yield the lines of a file that grows, without their ends; after `stop`, those that are there."""
    follower = Follower(log)
    rest = ""
    while True:
        last = stop.is_set()
        for text in follower.new():
            *lines, rest = (rest + text).split("\n")
            yield from lines
        if last:
            break
        stop.wait(_POLL_S)
    if rest:
        yield rest
