"""Signals that end hpcbench."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ended_like_ctrl_c() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM and SIGHUP inside the `with` block.

    If the ssh connection closes or hpcbench is killed, the processes that it started end, too.
    """

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
