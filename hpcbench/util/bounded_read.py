"""Reading files that somebody else may have written: no more of one into memory than hpcbench would ever write."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

# Of a file that is read whole, or of a line. A record with as many samples as there may be has some 2 MB.
MOST_BYTES = 64 * 2**20


def content(path: Path) -> bytes:
    """All of a file. Raises ValueError where that is too much, and OSError."""
    with path.open("rb") as file:
        found = file.read(MOST_BYTES + 1)
    if len(found) > MOST_BYTES:
        raise ValueError(f"it is larger than {MOST_BYTES // 2**20} MB")
    return found


def lines(file: IO[bytes], *, whole: bool = False) -> Iterator[bytes]:
    """The lines of a file from here on, without their ends; of one that is too long the beginning only, which is no
    JSON. Only `whole` ones are those that have ended: somebody may be writing the last one."""
    while line := file.readline(MOST_BYTES):
        if whole and not line.endswith(b"\n") and len(line) < MOST_BYTES:
            return
        yield line.rstrip(b"\r\n")
        while len(line) == MOST_BYTES and not line.endswith(b"\n"):  # the rest of a line that is too long
            line = file.readline(MOST_BYTES)
