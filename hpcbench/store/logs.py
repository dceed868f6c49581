"""The end of the log of a job."""

from __future__ import annotations

import os
from pathlib import Path

MOST_BYTES = 2**18  # a log may be gigabytes long
LONGEST = 1000  # characters of a line, from its end


def last_lines(path: Path, count: int) -> list[str]:
    """Return at most `count` lines from the end of a log, within its last MOST_BYTES.

    Blank lines at the end do not count; of a long line, its last LONGEST characters are returned. Raise OSError if
    the log cannot be read.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        start = max(0, size - MOST_BYTES)
        file.seek(start)
        text = file.read(MOST_BYTES).decode(errors="replace")
    lines = text.rstrip().split("\n")
    if start and len(lines) > 1:
        del lines[0]  # its beginning was not read
    # A progress bar overwrites its line: keep the last version.
    shown = [line.rstrip("\r").rpartition("\r")[2][-LONGEST:] for line in lines]
    return shown[-count:] if count and text.strip() else []
