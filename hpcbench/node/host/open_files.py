"""Repeated reads of small files in /proc and /sys: the files stay open, which halves the cost."""

import os
from typing import Dict, List, Optional

_MAX_OPEN = 400  # below 1024, the usual limit of a process
_WHOLE = 2048  # a shorter result is complete: the kernel returns a page, except for a last record that does not fit


class Files:
    """Readers of small files. A file that cannot be read has no content."""

    def __init__(self) -> None:
        self._handles: Dict[str, int] = {}
        self._buffer = bytearray(1 << 16)

    def read(self, path: str) -> bytes:
        """Return the current content of a file; empty if it cannot be read."""
        handle = self._handles.get(path)
        if handle is None:
            handle = _opened(path)
            if handle is None:
                return b""
            self._handles[path] = handle
        try:
            return self._content(handle)
        except OSError:
            self.forget(path)
            return b""
        finally:
            if len(self._handles) > _MAX_OPEN:
                self.forget(path)

    def forget(self, path: str) -> None:
        """Close a file that will not be read again soon."""
        handle = self._handles.pop(path, None)
        if handle is not None:
            os.close(handle)

    def close(self) -> None:
        """Close all files."""
        for path in list(self._handles):
            self.forget(path)

    def _content(self, handle: int) -> bytes:
        count = os.preadv(handle, [self._buffer], 0)
        content = bytes(memoryview(self._buffer)[:count])
        if count < _WHOLE:
            return content
        parts: List[bytes] = []
        while count:
            parts.append(content)
            count = os.preadv(handle, [self._buffer], sum(map(len, parts)))
            content = bytes(memoryview(self._buffer)[:count])
        return b"".join(parts)


def _opened(path: str) -> Optional[int]:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def why_unreadable(path: str) -> Optional[str]:
    """Return the error and path of a file that cannot be read; None if it can."""
    try:
        with open(path, "rb", buffering=0) as file:
            file.read(1)
    except OSError as error:
        return "%s: %s" % (error.strerror, path)
    return None
