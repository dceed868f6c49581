"""Being told to end: Slurm sends SIGTERM and then gives a job some time, in which the outcome is recorded."""

import contextlib
import os
import select
import signal
import time
from typing import Any, Callable, Iterator, List


class Stop:
    """Whether this process was told to end. Create it in the main thread, before anything is started."""

    def __init__(self) -> None:
        self.requested = False
        self._callbacks: List[Callable[[], None]] = []
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._write_end, False)
        signal.set_wakeup_fd(self._write_end)  # or a wait that begins as a signal comes would not see it
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def request(self) -> None:
        """Begin nothing more, as after a signal."""
        self.requested = True

    @contextlib.contextmanager
    def calling(self, callback: Callable[[], None]) -> Iterator[None]:
        """Call `callback` when a signal comes, and at once if one has come before."""
        self._callbacks.append(callback)
        try:
            if self.requested:
                callback()
            yield
        finally:
            self._callbacks.remove(callback)

    def wait(self, seconds: float) -> None:
        """Wait until a signal comes, `seconds` at most."""
        until = time.monotonic() + seconds
        while not select.select([self._read_end], [], [], max(0.0, until - time.monotonic()))[0]:
            if time.monotonic() >= until:
                return
        os.read(self._read_end, 4096)

    def wait_for(self, descriptor: int) -> bool:
        """Wait until something can be read from a descriptor; return False if a signal has come before."""
        if not self.requested:
            select.select([self._read_end, descriptor], [], [])
        return not self.requested

    def _on_signal(self, number: int, frame: Any) -> None:
        self.requested = True
        with contextlib.suppress(BlockingIOError):
            os.write(self._write_end, b"!")
        for callback in list(self._callbacks):
            callback()
