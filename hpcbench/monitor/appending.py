"""Adding to a file that several processes of a job add to: whole or not at all."""

import contextlib
import fcntl
import os
from typing import Iterator

from .writing import make_folder, no_link


@contextlib.contextmanager
def appending(path: str) -> Iterator[int]:
    """A handle at the end of the file, which others leave alone meanwhile; after an OSError the file is as it was."""
    make_folder(os.path.dirname(path))
    handle = no_link(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        with contextlib.suppress(OSError):  # a file system without locks: nothing better to be had
            fcntl.flock(handle, fcntl.LOCK_EX)
        size = os.fstat(handle).st_size
        try:
            yield handle
        except OSError:
            os.ftruncate(handle, size)
            raise
    finally:
        os.close(handle)


def write_all(handle: int, data: bytes) -> None:
    """The system may take it in pieces."""
    written = 0
    while written < len(data):
        written += os.write(handle, data[written:])
