"""Write or append to files under results/SWEEP. Links, which other users may have planted, are not followed."""

import contextlib
import errno
import fcntl
import json
import os
import stat
import sys
import time
from typing import Any, Callable, Dict, Iterator, Union

RESULTS = "results"  # this folder and its parents may be links


def make_folder(path: str) -> None:
    """Make a folder and its parents. Raise OSError if the folder, or one between results/ and it, is a link."""
    parts = os.path.abspath(path).split(os.sep)
    first = len(parts) - parts[::-1].index(RESULTS) if RESULTS in parts else len(parts) - 1
    for end in range(first + 1, len(parts) + 1):
        folder = os.sep.join(parts[:end])
        if os.path.islink(folder):
            raise OSError(errno.ELOOP, "hpcbench does not write to symbolic links", folder)
    os.makedirs(path, exist_ok=True)


def no_link(path: str, flags: int) -> int:
    """Open a file as an opener for `open`.

    Raise OSError if the path is a link or not a regular file: a pipe would block the writer.
    """
    handle = os.open(path, flags & ~os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.ELOOP, "hpcbench writes only to regular files", path)
    if flags & os.O_TRUNC:
        os.ftruncate(handle, 0)
    return handle


def keep_once(path: str, describe: Callable[[], Dict[str, Any]]) -> None:
    """Write the result of `describe` as JSON to a new file, completely or not at all. Keep an existing file.

    Print an error to standard error, and continue, if the file cannot be written.
    """
    if os.path.exists(path):
        return
    try:
        write_whole(path, json.dumps(describe(), indent=1) + "\n")
    except Exception as error:  # a node with a read-only disk, or with unforeseen content in /proc or /sys
        print("hpcbench: %s was not written: %s" % (path, error), file=sys.stderr)


def write_whole(path: str, content: Union[str, bytes], *, durable: bool = False) -> None:
    """Write a file completely or not at all: write to a unique temporary name, then rename it.

    A `durable` file is whole after a power failure, too. Raise OSError if the file cannot be written.
    """
    make_folder(os.path.dirname(path))
    # Process IDs are not unique on a node: containers have their own.
    unfinished = "%s.%s-%d-%x.part" % (path, os.uname().nodename, os.getpid(), time.monotonic_ns())
    try:
        with open(unfinished, "wb", opener=no_link) as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(unfinished, path)
    except OSError:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
        raise


_BLOCK_BYTES = 65536


@contextlib.contextmanager
def appending(path: str, *, whole_lines: bool = False) -> Iterator[int]:
    """Lock a file and yield a descriptor at its end, inside the `with` block.

    With `whole_lines`, remove a cut-off last line first. After an OSError in the block, truncate the file to its
    earlier size and raise the error.
    """
    make_folder(os.path.dirname(path))
    handle = no_link(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
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


def append_lines(path: str, lines: bytes) -> None:
    """Append lines to a file, durably, and all or none of them. Raise OSError on a full disk.

    End a cut-off last line first, of which only the line end may be missing.
    """
    with appending(path) as handle:
        size = os.fstat(handle).st_size
        if size and os.pread(handle, 1, size - 1) != b"\n":
            lines = b"\n" + lines
        write_all(handle, lines)
        os.fsync(handle)


def _size_of_whole_lines(handle: int) -> int:
    """Return the size of a file in bytes without a cut-off last line."""
    end = os.fstat(handle).st_size
    while end:
        start = max(0, end - _BLOCK_BYTES)
        line_end = os.pread(handle, end - start, start).rfind(b"\n")
        if line_end >= 0:
            return start + line_end + 1
        end = start
    return 0


def write_all(handle: int, data: bytes) -> None:
    """Write all bytes: one call of write(2) may write only some of them. Raise OSError if that fails."""
    written = 0
    while written < len(data):
        written += os.write(handle, data[written:])
