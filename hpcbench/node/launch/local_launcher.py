"""The local launcher: what srun is on a cluster, this is on a machine without Slurm.

It starts the tasks of a case, gives each its own CPUs, and ends all of them when one fails.
"""

import os
import signal
import subprocess
import time
from typing import Any, Callable, ContextManager, List, Sequence

from ..host.hardware import usable_cpus

KILL_AFTER_S = 8.0  # a supervisor may need six seconds to end its worker and write how it ended
POLL_S = 0.005
_MEETINGS_APART = 101  # launchers of one process begin to look for a port so far apart

_launched = 0


def run_tasks(
    tasks: int, cpus_per_task: int, command: List[str], stopping: Callable[[Callable[[], None]], ContextManager[None]]
) -> int:
    """Run `command` as `tasks` processes, each on CPUs of its own if there are enough; return as `run_on`."""
    cpus = usable_cpus()
    share = cpus_per_task if tasks * cpus_per_task <= len(cpus) else 0
    shares = [cpus[rank * share : (rank + 1) * share] for rank in range(tasks)]
    return run_on(shares, command, stopping)


def run_on(
    shares: Sequence[Sequence[int]],
    command: List[str],
    stopping: Callable[[Callable[[], None]], ContextManager[None]],
) -> int:
    """Run `command` once for each share of CPUs; an empty one binds to none. Return the first exit status that is not
    0, else 0. `stopping` is a context in which the function that it is given is called when all are to end."""
    global _launched
    _launched += 1
    started = _Tasks()
    with stopping(started.end):
        for rank, share in enumerate(shares):
            environment = dict(os.environ, HPCBENCH_RANK=str(rank), HPCBENCH_RANKS=str(len(shares)))
            environment["HPCBENCH_LAUNCHER"] = str(os.getpid() + _MEETINGS_APART * (_launched - 1))
            if share:
                environment["HPCBENCH_CPUS"] = ",".join(map(str, share))
            started.start(command, environment)
        return started.wait()


def spawn_on(shares: Sequence[Sequence[int]], command: List[str]) -> int:
    """Do as `run_on`, and end the tasks when this process is told to end."""
    return run_on(shares, command, EndOnSignal)


class EndOnSignal:
    """A context in which a function is called at SIGTERM and SIGINT, for a process that does nothing else."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback

    def __enter__(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, frame: self._callback())

    def __exit__(self, *_: Any) -> None:
        """The handlers stay: there is nothing else to do in this process."""


class _Tasks:
    """Processes that run together, and end together."""

    def __init__(self) -> None:
        self._processes: "List[subprocess.Popen[bytes]]" = []
        self._told_to_end = False

    def start(self, command: List[str], environment: "dict[str, str]") -> None:
        """Start one more, unless they were told to end."""
        if self._told_to_end:
            return
        self._processes.append(subprocess.Popen(command, env=environment))
        if self._told_to_end:  # while this one was started, so that it was not among those that were ended
            self.end()

    def end(self) -> None:
        """Tell all of them to end."""
        self._told_to_end = True
        for process in self._processes:
            if process.poll() is None:
                process.terminate()

    def wait(self) -> int:
        """Wait for all; end the others when one fails. Return as a shell would say it."""
        processes = self._processes
        failed = 0
        while None in [process.poll() for process in processes]:  # a list: each of them must be polled
            failed = failed or next((p.returncode for p in processes if p.returncode), 0)
            if failed:
                self.end()
                break
            time.sleep(POLL_S)
        deadline = time.monotonic() + KILL_AFTER_S
        for process in processes:
            try:
                process.wait(timeout=max(0.0, deadline - time.monotonic()) if failed else None)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        failed = failed or next((p.returncode for p in processes if p.returncode), 0)
        return failed if failed >= 0 else 128 - failed
