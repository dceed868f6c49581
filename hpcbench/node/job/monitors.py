"""The monitors of a job: one process per node for all consecutive runs, which receives commands as JSON.

They run longer than a single run, so that no run waits for a Python and its imports. Each run has its own timeline.
Concurrent runs have separate monitors, because a monitor serves one run at a time: it searches for the processes of
this run, accounts for their CPU time, and reads less often as the run gets longer.
"""

import contextlib
import json
import os
import select
import subprocess
import time
from typing import Any, Callable, Dict, List, Optional

from ..monitor.protocol import BEGIN, BUSY, END, IDLE
from .stop import Stop

TIMEOUT_S = 30.0  # for a reply: a file system may delay a monitor
Wait = Callable[[int, float], bool]


def _wait_for(descriptor: int, seconds: float) -> bool:
    return bool(select.select([descriptor], [], [], seconds)[0])


class Monitors:
    """Start the monitors with the first run, and again if they have died."""

    def __init__(
        self, words: List[str], nodes: int, report: Callable[[str], None], stop: Optional[Stop] = None
    ) -> None:
        self._words = words
        self._report = report
        self._stop = stop
        self._nodes = nodes
        self._process: "Optional[subprocess.Popen[bytes]]" = None
        self._buffer = b""
        self._number = 0
        self._watching = False

    def begin(self, scratch: str) -> None:
        """Start a timeline in `scratch` on each node. The base name of `scratch` marks the processes of the run."""
        replies = self._ask({"do": BEGIN, "folder": scratch})
        self._watching = bool(replies)
        self._report_reasons(replies, "cannot begin")
        if len(replies) < self._nodes:
            self._report("%d of %d monitors responded" % (len(replies), self._nodes))
        if not replies:
            self._kill()

    def end(self) -> None:
        """End the timelines. Kill a monitor that does not respond; what it has written stays."""
        if not self._watching:
            return
        self._watching = False
        if self._process is None or self._process.poll() is not None:
            self._report("the monitor exited early: this run was not monitored to its end")
            return
        replies = self._ask({"do": END})
        self._report_reasons(replies, "has ended")
        if len(replies) < self._nodes:
            self._kill()

    def _report_reasons(self, replies: List[Dict[str, Any]], what: str) -> None:
        for reply in replies:
            if reply["reason"]:
                self._report("the monitor on %s %s: %s" % (reply["host"], what, reply["reason"]))

    def busy(self, wait_s: float, gpus: bool) -> str:
        """Return which other activity keeps the nodes busy, after waiting up to `wait_s` seconds for it to end.

        Return an empty text if the nodes are idle, or after a signal to end.
        """
        wait = self._stop.wait_for if self._stop else _wait_for
        replies = self._ask({"do": IDLE, "wait_s": wait_s, "gpus": gpus}, wait_s, wait)
        if self._stop is not None and self._stop.requested:
            return ""
        busy = ["%s: %s" % (reply["host"], reply["reason"]) for reply in replies if reply["state"] == BUSY]
        if busy or len(replies) == self._nodes:
            return "\n".join(busy)
        return "a node could not be checked"

    def close(self) -> None:
        """End the monitors. Each then writes the description of its node, unless the sweep already has one."""
        if self._process is None:
            return
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        with contextlib.suppress(OSError):  # it has died
            self._process.stdin.close()
        try:
            self._process.wait(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._kill()

    def _ask(self, command: Dict[str, Any], wait_s: float = 0.0, wait: Wait = _wait_for) -> List[Dict[str, Any]]:
        """Return the replies to a command that takes `wait_s` seconds, one from each node that responds in time."""
        self._number += 1
        line = json.dumps({**command, "number": self._number}) + "\n"
        try:
            process = self._running()
            os.write(process.stdin.fileno(), line.encode())  # type: ignore[union-attr]
        except OSError:  # it has died, or cannot be started
            self._kill()
            return []
        replies: List[Dict[str, Any]] = []
        until = time.monotonic() + wait_s + TIMEOUT_S
        while len(replies) < self._nodes:
            reply = self._line(until, wait)
            if reply is None:
                break
            if reply.get("number") == self._number:
                replies.append(reply)
        return replies

    def _running(self) -> "subprocess.Popen[bytes]":
        if self._process is None or self._process.poll() is not None:
            self._buffer = b""
            self._process = subprocess.Popen(self._words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        return self._process

    def _line(self, until: float, wait: Wait) -> Optional[Dict[str, Any]]:
        """Return the next line that is JSON; None after `until`, or if the monitors have ended."""
        assert self._process is not None and self._process.stdout is not None  # noqa: S101, PT018 - it is a pipe
        pipe = self._process.stdout.fileno()
        while True:
            line, end, rest = self._buffer.partition(b"\n")
            if end:
                self._buffer = rest
                try:
                    found = json.loads(line)
                except ValueError:  # for example, a message of srun
                    continue
                if isinstance(found, dict):
                    return found
                continue
            if not wait(pipe, max(0.0, until - time.monotonic())):
                return None
            part = os.read(pipe, 65536)
            if not part:
                return None
            self._buffer += part

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
