"""Limits of time and memory for templates and expressions, which must not hang a login node or fill its memory."""

from __future__ import annotations

import mmap
import resource
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

_AGAIN_S = 0.1  # interval of further signals, in case the code catches the first exception


class OutOfTimeError(Exception):
    """A time limit was exceeded."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Raise OutOfTimeError if the `with` block takes longer than `seconds`.

    It has an effect only in the main thread, because other threads receive no signals. A timer that is already
    running continues afterwards.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        raise OutOfTimeError(f"it takes longer than {seconds:g} s")

    before, began_s = signal.signal(signal.SIGALRM, end), time.monotonic()
    left_s, every_s = signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left_s:
            signal.setitimer(signal.ITIMER_REAL, max(1e-6, left_s - (time.monotonic() - began_s)), every_s)


@contextmanager
def memory(more_bytes: int) -> Iterator[None]:
    """Raise MemoryError if the `with` block takes more than `more_bytes` of additional address space."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    limits = [limit for limit in (used + more_bytes, soft, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
