"""Files under results/SWEEP, written whole or appended to. Links, which others may have planted, are not followed."""

import contextlib
import errno
import fcntl
import json
import os
import platform
import stat
import sys
from typing import Any, Callable, Dict, Iterator

RESULTS = "results"  # it may be a link itself, and so may what is above


def make_folder(path: str) -> None:
    """Make a folder and those above it. Raises OSError where it, or one between results/ and it, is a link."""
    parts = os.path.abspath(path).split(os.sep)
    first = len(parts) - parts[::-1].index(RESULTS) if RESULTS in parts else len(parts) - 1
    for end in range(first + 1, len(parts) + 1):
        folder = os.sep.join(parts[:end])
        if os.path.islink(folder):
            raise OSError(errno.ELOOP, "it is a link, and nothing is written there", folder)
    os.makedirs(path, exist_ok=True)


def no_link(path: str, flags: int) -> int:
    """An opener for `open`. Raises OSError for a link, and for what is no file: a pipe would hold up who writes."""
    handle = os.open(path, flags & ~os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.ELOOP, "it is no file, and nothing is written there", path)
    if flags & os.O_TRUNC:
        os.ftruncate(handle, 0)
    return handle


def keep_once(path: str, describe: Callable[[], Dict[str, Any]]) -> None:
    """Write what `describe` tells as JSON, whole or not at all, unless it is there. What cannot be is told and lost."""
    if os.path.exists(path):
        return
    try:
        write_whole(path, json.dumps(describe(), indent=1) + "\n")
    except Exception as error:  # a node where nothing can be written, or that tells what nobody foresaw
        print("hpcbench: %s is not written: %s" % (path, error), file=sys.stderr)


def write_whole(path: str, text: str) -> None:
    """Under another name first, that of no other process on any node."""
    make_folder(os.path.dirname(path))
    unfinished = "%s.%s-%d.part" % (path, platform.node(), os.getpid())
    try:
        with open(unfinished, "w", encoding="utf-8", opener=no_link) as file:
            file.write(text)
        os.replace(unfinished, path)
    except OSError:
        if os.path.exists(unfinished):
            os.unlink(unfinished)
        raise


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
