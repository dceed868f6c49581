"""Read the log of a job: its end, or what is added to it."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from pathlib import Path

MOST_BYTES = 2**18  # a log may be gigabytes long
BLOCK = 2**16  # bytes read at once
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


class Follower:
    """Read what was added to a log since the previous call, from its beginning."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0  # bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def new(self) -> Iterator[str]:
        """Yield the text that was added, with a line for each version of a progress bar.

        Begin again if the log has become shorter: another attempt has replaced it. Raise OSError if it cannot be read.
        """
        with self._path.open("rb") as file:
            if file.seek(0, os.SEEK_END) < self._read:
                self._read = 0
            file.seek(self._read)
            while block := file.read(BLOCK):
                self._read += len(block)
                yield self._decoder.decode(block).replace("\r\n", "\n").replace("\r", "\n")
