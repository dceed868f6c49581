"""One hpcbench at a time, by a lock file."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hpcbench.errors import UserError


@contextmanager
def exclusive(file: Path, taken: UserError) -> Iterator[int]:
    """Hold the lock of a file; gives its descriptor. Raises `taken` where another process has it.

    A program that inherits the descriptor holds the lock for as long as it lives.
    """
    with file.open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise taken from None
        except OSError:  # a file system without locks: nothing better to be had
            pass
        yield stream.fileno()
