"""Run a sweep on this machine: with the same scripts, one run at a time, in the foreground."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType

from hpcbench.core.files import no_link
from hpcbench.store.workspace import SweepPaths

STOP_GRACE_S = 30.0  # Slurm's default KillWait
OWN_END_S = 60.0  # beyond the time limit of a run, for its driver to end it and to write its record
MAX_DRIVERS = 4  # that wait for their next run; each uses some 20 MB
POLL_S = 0.02  # while a driver is being stopped
CHECK_S = 1.0  # between checks whether a script has died although another process holds its connection open


class LocalExecutor:
    """Run elements one by one. The driver of a job waits for its next element, and ends with the `with` block.

    A script inherits the descriptor of the sweep's lock, but the programs that it measures do not: if this process is
    killed, the sweep stays locked until the record of the current run is written.
    """

    def __init__(self, paths: SweepPaths, lock: int | None = None) -> None:
        self._paths = paths
        self._lock = lock
        self._drivers: dict[str, _Driver] = {}  # by job, the last used one at the end

    def __enter__(self) -> LocalExecutor:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for driver in self._drivers.values():
            driver.end()
        self._drivers.clear()

    def run(self, job: str, element: int, limit_s: int) -> bool:
        """Run one element to its end. The driver of its job ends it at its time limit of `limit_s` seconds.

        The set-up of the job has the same limit. Return whether the script had to be stopped because the set-up
        exceeded it, or because the driver did not end the run in time. After KeyboardInterrupt, stop the run before
        raising it again. Raise OSError if the log cannot be written.
        """
        log = self._paths.log(job, element, None)
        log.parent.mkdir(parents=True, exist_ok=True)
        with open(log, "wb", opener=no_link) as output:
            driver = self._drivers.pop(job, None)
            if driver is None or driver.has_ended:
                driver = _Driver(self._paths.script(job), log, output.fileno(), self._lock)
        if driver.run(element, log, limit_s):
            self._drivers[job] = driver
        if len(self._drivers) > MAX_DRIVERS:
            self._drivers.pop(next(iter(self._drivers))).end()
        return driver.was_too_late


class _Driver:
    """The script of a job, whose last command is the driver."""

    def __init__(self, script: Path, log: Path, output: int, lock: int | None) -> None:
        self.was_too_late = False
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._script = subprocess.Popen(
                ["bash", str(script), "--serve", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=_environment(log),
                pass_fds=(theirs.fileno(), *(() if lock is None else (lock,))),
                start_new_session=True,  # so that all processes of a run can be signalled as one group
            )

    @property
    def has_ended(self) -> bool:
        return self._script.poll() is not None

    def run(self, element: int, log: Path, limit_s: int) -> bool:
        """Run an element; return whether the driver is ready for another one."""
        request = json.dumps({"element": element, "log": str(log)}) + "\n"
        answered = False
        try:
            with contextlib.suppress(ConnectionError):  # the driver has died
                self._socket.sendall(request.encode())
                answered = self._answers(limit_s) and self._answers(limit_s + OWN_END_S)
        finally:
            if not answered:
                self._stop()
        return answered

    def end(self) -> None:
        """End the driver after its current run, if it has one."""
        self._socket.close()
        try:
            self._script.wait(timeout=STOP_GRACE_S)
        except subprocess.TimeoutExpired:
            self._stop()

    def _answers(self, seconds: float) -> bool:
        """Wait for the start or the end of a run; return False if the driver has died, or after `seconds`."""
        until_s = time.monotonic() + seconds
        while not self.has_ended:
            left_s = until_s - time.monotonic()
            if select.select([self._socket], [], [], max(0.0, min(left_s, CHECK_S)))[0]:
                return bool(self._socket.recv(1))
            if left_s <= 0:
                self.was_too_late = True
                return False
        return False

    def _stop(self) -> None:
        """Send SIGTERM to the process group, as Slurm does, and SIGKILL later. The driver writes the record between."""
        self._socket.close()
        until_s = time.monotonic() + STOP_GRACE_S
        try:
            alive = self._signal(signal.SIGTERM)
            while alive and time.monotonic() < until_s:
                time.sleep(POLL_S)
                self._script.poll()
                alive = self._signal(0)
        finally:
            self._signal(signal.SIGKILL)
            self._script.wait()

    def _signal(self, number: int) -> bool:
        """Signal the process group; return whether it still has a process."""
        try:
            os.killpg(self._script.pid, number)
        except ProcessLookupError:
            return False
        return True


def _environment(log: Path) -> dict[str, str]:
    """Return this environment without variables of an enclosing Slurm job, by which the script would run as one."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
    return {**inherited, "HPCBENCH_LOG": str(log)}
