"""Wait for the end of any child process without polling: by SIGCHLD, which does not require pidfds."""

import os
import select
import signal
import time
from typing import Any, Callable, Optional


class ChildExits:
    """A context manager, for the main thread, in which the end of a child or any other handled signal ends a wait."""

    def __enter__(self) -> "ChildExits":
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        os.set_blocking(self._write_end, False)
        self._handler = signal.signal(signal.SIGCHLD, lambda number, frame: None)
        self._wakeup = signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        return self

    def __exit__(self, *_: Any) -> None:
        signal.set_wakeup_fd(self._wakeup)
        signal.signal(signal.SIGCHLD, self._handler)
        os.close(self._read_end)
        os.close(self._write_end)

    def wait(self, timeout_s: Optional[float]) -> None:
        """Wait until a signal has arrived since the last wait, for at most `timeout_s` seconds; None is no limit."""
        if select.select([self._read_end], [], [], timeout_s)[0]:
            os.read(self._read_end, 4096)

    def wait_until(self, done: Callable[[], bool], timeout_s: Optional[float]) -> bool:
        """Wait until `done` returns true, for at most `timeout_s` seconds (None: no limit); return whether it has."""
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while not done():
            left_s = None if until is None else until - time.monotonic()
            if left_s is not None and left_s <= 0:
                return False
            self.wait(left_s)
        return True
