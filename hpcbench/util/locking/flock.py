"""Locks of the kernel, on files."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hpcbench.errors import UserError

_PAUSE_S = 0.05  # between two tries


def try_lock(descriptor: int) -> bool:
    """Lock an open file; False where its file system has no locks. Raises BlockingIOError where another has it.

    A program that inherits the descriptor holds the lock for as long as it lives.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # ENOLCK, ENOSYS, EOPNOTSUPP or one of the file system's own
        return False
    return True


@contextmanager
def exclusive(file: Path, taken: UserError, patience_s: float = 0.0) -> Iterator[int]:
    """Hold the lock of a file where there are locks; gives its descriptor. Raises `taken` where another has it, and
    keeps it for so long."""
    until_s = time.monotonic() + patience_s
    with file.open("w") as stream:
        while True:
            try:
                try_lock(stream.fileno())
                break
            except BlockingIOError:
                if time.monotonic() >= until_s:
                    raise taken from None
            time.sleep(_PAUSE_S)
        yield stream.fileno()


@contextmanager
def as_standard_input(descriptor: int) -> Iterator[None]:
    """Programs that are started meanwhile inherit this descriptor, and a lock that it has, as their standard input."""
    saved = os.dup(0)
    os.dup2(descriptor, 0)
    try:
        yield
    finally:
        os.dup2(saved, 0)
        os.close(saved)
