"""Writing under results/SWEEP: of links, which others may have planted in a shared sweep, none is followed."""

import errno
import os
import stat

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
