"""Signals to end: Slurm sends SIGTERM, and SIGKILL after a grace time, in which the driver records the outcome."""

import contextlib
import os
import select
import signal
import time
from typing import Any, Callable, Iterator, List, Optional


class Stop:
    """A flag: whether this process has received a signal to end. Create it in the main thread, before other threads."""

    def __init__(self) -> None:
        self.requested = False
        self._callbacks: List[Callable[[], None]] = []
        self._read_end, self._write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        os.set_blocking(self._write_end, False)
        signal.set_wakeup_fd(self._write_end)  # otherwise a wait that begins as a signal arrives would miss it
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)

    def request(self) -> None:
        """Behave as after a signal: start no further run."""
        self.requested = True

    @contextlib.contextmanager
    def calling(self, callback: Callable[[], None]) -> Iterator[None]:
        """Call `callback` when a signal arrives inside the `with` block, or immediately if one has arrived before."""
        self._callbacks.append(callback)
        try:
            if self.requested:
                callback()
            yield
        finally:
            self._callbacks.remove(callback)

    def wait(self, seconds: float) -> None:
        """Wait up to `seconds` for a signal to end. Several threads can wait at the same time."""
        until_s = time.monotonic() + seconds
        while select.select([self._read_end], [], [], max(0.0, until_s - time.monotonic()))[0]:
            if self.requested:
                return
            self._drain()

    def wait_for(self, descriptor: int, seconds: Optional[float] = None) -> bool:
        """Wait until a descriptor is readable. Return False after a signal to end, or after `seconds`."""
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
        """Remove the wake-up bytes of other signals. After a signal to end, leave one for all threads that wait."""
        with contextlib.suppress(BlockingIOError):  # another thread has removed them
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
