"""Limits of time and memory for templates and expressions: one without end must not hang or fill a login node."""

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

_AGAIN_S = 0.1  # where the code that is to end takes the first exception for one of its own


class OutOfTimeError(Exception):
    """What was to be done has taken too long."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """End what takes longer by OutOfTimeError. Only in the main thread: no other one gets signals.

    A timer that is running already goes on afterwards.
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
    """End what takes this much more memory by MemoryError."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE
    limits = [limit for limit in (used + more_bytes, soft, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
