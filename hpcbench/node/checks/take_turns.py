"""One process at a time on a node, by a folder that all of them see: two that measure at once disturb each other."""

import contextlib
import os
import platform
import time
from typing import Iterator

PATIENCE_S = 300.0  # the one before us may have been killed
_POLL_S = 0.2


@contextlib.contextmanager
def turn(folder: str, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Waits for those before us on this machine. mkdir is atomic on every shared file system; not all have locks."""
    ours = os.path.join(folder, "turn-%s" % platform.node())
    taken = _take(ours, time.monotonic() + patience_s)
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
