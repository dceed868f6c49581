"""Locks of the kernel on files: flock(2)."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hpcbench.core.files import no_link
from hpcbench.errors import UserError

_PAUSE_S = 0.05  # between two attempts


def try_lock(descriptor: int) -> bool:
    """Lock an open file without waiting. Return False if its file system does not support locks.

    Raise BlockingIOError if another process holds the lock. A program that inherits the descriptor holds the lock
    until it ends.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:  # ENOLCK, ENOSYS, EOPNOTSUPP or one of the file system's own
        return False
    return True


@contextmanager
def exclusive(file: Path, taken: UserError, timeout_s: float = 0.0) -> Iterator[int]:
    """Hold the lock of a file inside the `with` block, and yield its descriptor.

    Without support for locks, nothing is locked. Raise `taken` if another process still holds the lock after
    `timeout_s` seconds, and OSError if the file is a link: another user may have planted it.
    """
    until_s = time.monotonic() + timeout_s
    with open(file, "w", opener=no_link) as stream:
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
    """Make a descriptor the standard input inside the `with` block.

    Programs that start in the block inherit the descriptor, and any lock that it has, as their standard input.
    """
    saved = os.dup(0)
    os.dup2(descriptor, 0)
    try:
        yield
    finally:
        os.dup2(saved, 0)
        os.close(saved)
