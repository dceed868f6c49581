"""A copy of the output of a command: complete, or its beginning and end if it is long.

A run of hours must not fail because its program prints a lot, and its output must not fill the disk.
"""

import os
from typing import List

from ...core.files import no_link
from ...core.metrics.kept_output import LAST, SEGMENT_BYTES, Part


class OutputCopy:
    """Copy a stream to files of SEGMENT_BYTES each, of which the first and the last LAST are kept."""

    def __init__(self, path: str) -> None:
        """Begin the first file. Raise OSError on a full disk."""
        self._path = path
        self._segment, self._room = 0, SEGMENT_BYTES
        self._file = open(path, "wb", buffering=0, opener=no_link)  # noqa: SIM115 - `close` closes it
        self.is_whole = True  # whether nothing was lost on a full disk

    def write(self, data: bytes) -> None:
        """Append bytes. After an error, write nothing more."""
        try:
            while data and self.is_whole:
                if not self._room:
                    self._begin_segment()
                written = self._file.write(data[: self._room])
                self.is_whole = bool(written)
                data, self._room = data[written:], self._room - written
        except OSError:
            self.is_whole = False

    def _begin_segment(self) -> None:
        self._file.close()
        self._segment, self._room = self._segment + 1, SEGMENT_BYTES
        self._file = open(_segment(self._path, self._segment), "wb", buffering=0, opener=no_link)  # noqa: SIM115
        if self._segment > LAST:
            os.unlink(_segment(self._path, self._segment - LAST))

    def close(self) -> None:
        """End the copy."""
        self._file.close()


def parts(path: str) -> List[Part]:
    """Return the kept parts of the output that was copied to `path`; bytes are missing between them. Raise OSError."""
    prefix = os.path.basename(path) + "."
    names = os.listdir(os.path.dirname(path))
    numbers = sorted(int(name[len(prefix) :]) for name in names if name.startswith(prefix))
    found: List[Part] = []
    for number in [0, *numbers]:
        with open(_segment(path, number), "rb") as file:
            content = file.read()
        last = found[-1] if found else Part(0, b"")
        if last.offset + len(last.content) == number * SEGMENT_BYTES:
            found[-1:] = [Part(last.offset, last.content + content)]
        else:
            found.append(Part(number * SEGMENT_BYTES, content))
    return found


def _segment(path: str, number: int) -> str:
    return "%s.%d" % (path, number) if number else path
