"""The messages between a job's driver and its monitors: one JSON object per line.

A command has `do` and a `number`; the reply of each node has the same number, its `host` and `state`, with a
`reason` for FAILED and BUSY, and for ENDED if it could not write to the end.
"""

import json
import os
import select
import time
from typing import Any, Dict, Optional

BEGIN, END, IDLE = "begin", "end", "idle"  # commands, with `folder` of the timeline; nothing; `wait_s` and `gpus`
WATCHING, FAILED, ENDED = "watching", "failed", "ended"  # replies to BEGIN and END
BUSY, QUIET = "busy", "quiet"  # replies to IDLE

Command = Dict[str, Any]


class Commands:
    """The commands that arrive on a file descriptor, such as standard input."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.end: Optional[Command] = None  # the END that ended the last run
        self._buffer = b""
        self._ended = False
        self._poll = select.poll()
        self._poll.register(descriptor, select.POLLIN | select.POLLHUP)

    def next(self) -> Optional[Command]:
        """Wait for the next command and return it; None at the end of the input. Ignore other lines."""
        while True:
            line = self._line()
            if line is not None:
                command = _parsed(line)
                if command is not None:
                    return command
            elif self._ended:
                return None
            else:
                self._read()

    def is_over(self, wait_s: float) -> bool:
        """Wait up to `wait_s` seconds; return whether the monitored run is over, by END or the end of the input.

        Ignore other commands: they have no meaning during a run.
        """
        self.end = None
        if self._poll.poll(max(0.0, wait_s) * 1000):
            self._read()
        while True:
            line = self._line()
            if line is None:
                return self._ended
            command = _parsed(line)
            if command is not None and command.get("do") == END:
                self.end = command
                return True

    def pause(self, seconds: float) -> bool:
        """Wait for `seconds`, or until the input ends; return whether it has ended."""
        until_s = time.monotonic() + seconds
        while not self._ended and time.monotonic() < until_s:
            if self._poll.poll(max(0.0, until_s - time.monotonic()) * 1000):
                self._read()
        return self._ended

    def _line(self) -> Optional[bytes]:
        line, end, rest = self._buffer.partition(b"\n")
        if not end:
            return None
        self._buffer = rest
        return line

    def _read(self) -> None:
        part = os.read(self.descriptor, 4096)
        self._ended = not part
        self._buffer += part


def _parsed(line: bytes) -> Optional[Command]:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def reply(command: Command, host: str, state: str, reason: str = "") -> None:
    """Write the reply to a command to standard output."""
    line = json.dumps({"number": command.get("number"), "host": host, "state": state, "reason": reason})
    os.write(1, (line + "\n").encode())
