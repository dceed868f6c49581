"""Being told to end: Slurm sends SIGTERM and then gives a job some time, in which the outcome is recorded."""

import contextlib
import os
import select
import signal
import time
from typing import Any, Callable, Iterator, List, Optional


class Stop:
    """Whether this process was told to end. Create it in the main thread, before anything is started."""

    def __init__(self) -> None:
        self.requested = False
        self._callbacks: List[Callable[[], None]] = []
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._read_end, False)
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
        """Wait for a signal to end, for up to `seconds`. Several threads can wait at the same time."""
        until_s = time.monotonic() + seconds
        while select.select([self._read_end], [], [], max(0.0, until_s - time.monotonic()))[0]:
            if self.requested:
                return
            self._drain()

    def wait_for(self, descriptor: int, seconds: Optional[float] = None) -> bool:
        """Wait until a descriptor is readable; return False after a signal to end, and after `seconds`."""
        until_s = None if seconds is None else time.monotonic() + seconds
        while not self.requested:
            left_s = None if until_s is None else max(0.0, until_s - time.monotonic())
            ready = select.select([descriptor, self._read_end], [], [], left_s)[0]
            if descriptor in ready:
                return not self.requested
            if not ready:
                return False
            self._drain()
        return False

    def _drain(self) -> None:
        """Take note of other signals. What was written by the signal to end stays, for all who wait."""
        with contextlib.suppress(BlockingIOError):  # another thread was faster
            os.read(self._read_end, 4096)
        if self.requested:
            self._wake()

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(self._write_end, b"!")

    def _on_signal(self, number: int, frame: Any) -> None:
        self.requested = True
        self._wake()
        for callback in list(self._callbacks):
            callback()
