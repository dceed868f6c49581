"""The end of what a job has printed."""

from __future__ import annotations

import os
from pathlib import Path

MOST_BYTES = 2**18  # a log may be gigabytes long
LONGEST = 1000  # characters of a line, from its end


def last_lines(path: Path, count: int) -> list[str]:
    """At most so many lines from the end of a log, as far as they stand in its last MOST_BYTES; blank lines at the end
    are no lines, and of a long one there is the end. Raises OSError where it cannot be read."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        start = max(0, size - MOST_BYTES)
        file.seek(start)
        text = file.read(MOST_BYTES).decode(errors="replace")
    lines = text.rstrip().split("\n")
    if start and len(lines) > 1:
        del lines[0]  # of which only the end was read
    # Of what a progress bar has overwritten, the last is what its terminal showed.
    shown = [line.rstrip("\r").rpartition("\r")[2][-LONGEST:] for line in lines]
    return shown[-count:] if count and text.strip() else []
