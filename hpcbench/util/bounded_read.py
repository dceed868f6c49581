"""Read files that other users may have written, with a limit on the memory that one of them takes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO

# Limit of a whole file, and of a line. A record with the largest number of samples has about 2 MB.
MAX_BYTES = 64 * 2**20


def content(path: Path) -> bytes:
    """Return the content of a file.

    Raise ValueError if the file is larger than MAX_BYTES, and OSError if it cannot be read.
    """
    with path.open("rb") as file:
        found = file.read(MAX_BYTES + 1)
    if len(found) > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES // 2**20} MB")
    return found


def lines(file: IO[bytes], *, whole: bool = False) -> Iterator[bytes]:
    """Yield the lines of an open file from its current position, without line ends.

    A line longer than MAX_BYTES is cut there; the cut line is not valid JSON. Another process may still be writing a
    line without a line end: it is the last one, and with `whole` it is left out.
    """
    while line := file.readline(MAX_BYTES):
        is_last = not line.endswith(b"\n") and len(line) < MAX_BYTES
        if not (whole and is_last):
            yield line.rstrip(b"\r\n")
        if is_last:
            return
        while len(line) == MAX_BYTES and not line.endswith(b"\n"):  # skip the rest of a cut line
            line = file.readline(MAX_BYTES)
