"""A lock for one process at a time per node, since concurrent measurements interfere with each other."""

import contextlib
import os
import platform
import time
from typing import Iterator

TIMEOUT_S = 300.0  # the previous holder may have been killed
_POLL_S = 0.2


@contextlib.contextmanager
def node_lock(folder: str, timeout_s: float = TIMEOUT_S) -> Iterator[None]:
    """Hold the lock of this node in `folder` inside the `with` block. After `timeout_s` seconds, continue without it.

    mkdir is atomic on every shared file system; not all support file locks.
    """
    ours = os.path.join(folder, "turn-%s" % platform.node())
    taken = _take(ours, time.monotonic() + timeout_s)
    try:
        yield
    finally:
        if taken:
            os.rmdir(ours)


def _take(ours: str, deadline: float) -> bool:
    while time.monotonic() < deadline:
        with contextlib.suppress(FileExistsError):
            os.mkdir(ours)
            return True
        time.sleep(_POLL_S)
    return False
