"""The elements that hpcbench sends to the driver of a local job one by one, so that no run waits for a new driver.

Each is a line of JSON on a connected socket, with the path of its log. The driver sends one byte back when the run
begins, after the set-up of the job, and another one when the run has ended.
"""

import contextlib
import json
import os
import sys
from typing import Iterator, Optional

from ...core.files import no_link
from .output import Output
from .stop import Stop


class Requests:
    """Yield elements until hpcbench closes the connection or dies, or until this process receives a signal to end."""

    def __init__(self, descriptor: int, output: Output, stop: Stop) -> None:
        self._descriptor = descriptor
        self._output = output
        self._stop = stop
        self._buffer = b""

    def __iter__(self) -> Iterator[int]:
        line = self._line()
        while line is not None:
            request = json.loads(line)
            self._log_to(request["log"])
            self._answer()
            yield int(request["element"])
            self._answer()
            line = self._line()

    def _answer(self) -> None:
        with contextlib.suppress(OSError):  # hpcbench has died, or no longer waits
            os.write(self._descriptor, b"\n")

    def _line(self) -> Optional[bytes]:
        while True:
            line, end, rest = self._buffer.partition(b"\n")
            if end:
                self._buffer = rest
                return line
            if not self._stop.wait_for(self._descriptor):
                return None
            try:
                part = os.read(self._descriptor, 65536)
            except ConnectionError:  # hpcbench died before it read a reply
                return None
            if not part:
                return None
            self._buffer += part

    def _log_to(self, path: str) -> None:
        """Redirect standard output and error of this process and of its children to a file."""
        sys.stdout.flush()
        sys.stderr.flush()
        log = no_link(path, os.O_WRONLY | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        self._output.log = path
