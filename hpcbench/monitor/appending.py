"""Adding to a file that several processes of a job add to: whole or not at all."""

import contextlib
import fcntl
import os
from typing import Iterator

from ..core.files import make_folder, no_link

_BLOCK_BYTES = 65536


@contextlib.contextmanager
def appending(path: str, *, whole_lines: bool = False) -> Iterator[int]:
    """A handle at the end of the file, which others leave alone meanwhile; after an OSError the file is as it was.
    Of one of `whole_lines`, a last one that an earlier death has cut off is forgotten."""
    make_folder(os.path.dirname(path))
    handle = no_link(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        with contextlib.suppress(OSError):  # a file system without locks: nothing better to be had
            fcntl.flock(handle, fcntl.LOCK_EX)
        if whole_lines:
            os.ftruncate(handle, _size_of_whole_lines(handle))
        size = os.fstat(handle).st_size
        try:
            yield handle
        except OSError:
            os.ftruncate(handle, size)
            raise
    finally:
        os.close(handle)


def _size_of_whole_lines(handle: int) -> int:
    """Without a last line that has no end."""
    end = os.fstat(handle).st_size
    while end:
        start = max(0, end - _BLOCK_BYTES)
        line_end = os.pread(handle, end - start, start).rfind(b"\n")
        if line_end >= 0:
            return start + line_end + 1
        end = start
    return 0


def write_all(handle: int, data: bytes) -> None:
    """The system may take it in pieces."""
    written = 0
    while written < len(data):
        written += os.write(handle, data[written:])
