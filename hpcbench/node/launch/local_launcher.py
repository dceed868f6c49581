"""The local launcher: what srun is on a cluster, this is on a machine without Slurm.

It starts the tasks of a case, gives each its own CPUs, and ends all of them when one fails.
"""

import contextlib
import os
import signal
import sys
import traceback
from typing import Any, Callable, ContextManager, Dict, List, Sequence

from ...core.status import SIGNALLED
from ..host.hardware import usable_cpus
from .child_exits import ChildExits

KILL_AFTER_S = 8.0  # a supervisor may need six seconds to end its worker and write how it ended
_MEETINGS_APART = 101  # launchers of one process begin to look for a port so far apart
LAST_STANDARD = 2  # of the descriptors that each program has
_HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)  # by this process, and not by its tasks

Task = Callable[[], int]  # what a new process does; returns its exit status
Stopping = Callable[[Callable[[], None]], ContextManager[None]]

_launched = 0


def executing(command: List[str]) -> Task:
    """Return the task of becoming another program."""

    def execute() -> int:
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores
            signal.signal(number, signal.SIG_DFL)
        try:
            os.execvp(command[0], command)
        except OSError as error:
            print("hpcbench: %s: %s" % (command[0], error.strerror), file=sys.stderr)
        return 127

    return execute


def run_tasks(tasks: int, cpus_per_task: int, task: Task, stopping: Stopping) -> int:
    """Run `task` in `tasks` processes, each on CPUs of its own if there are enough; return as `run_on`."""
    cpus = usable_cpus()
    share = cpus_per_task if tasks * cpus_per_task <= len(cpus) else 0
    shares = [cpus[rank * share : (rank + 1) * share] for rank in range(tasks)]
    return run_on(shares, task, stopping)


def run_on(shares: Sequence[Sequence[int]], task: Task, stopping: Stopping) -> int:
    """Run `task` in a process for each share of CPUs; an empty one binds to none. Return the first exit status that is
    not 0, else 0. `stopping` is a context in which the function that it is given is called when all are to end."""
    global _launched
    _launched += 1
    started = _Tasks()
    # Where its ranks begin to look for a port, and what tells it from launchers that have the same number elsewhere: a
    # container may number its processes from 1.
    launcher = "%d.%s" % (os.getpid() + _MEETINGS_APART * (_launched - 1), os.urandom(8).hex())
    with ChildExits() as exits, stopping(started.end):
        for rank, share in enumerate(shares):
            variables = {"HPCBENCH_RANK": str(rank), "HPCBENCH_RANKS": str(len(shares)), "HPCBENCH_LAUNCHER": launcher}
            if share:
                variables["HPCBENCH_CPUS"] = ",".join(map(str, share))
            started.start(task, variables)
        return started.wait(exits)


def spawn_on(shares: Sequence[Sequence[int]], command: List[str]) -> int:
    """Run a command as `run_on` does a task, and end all when this process is told to end."""
    return run_on(shares, executing(command), EndOnSignal)


class EndOnSignal:
    """A context in which a function is called at SIGTERM and SIGINT, for a process that does nothing else."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback

    def __enter__(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, frame: self._callback())

    def __exit__(self, *_: Any) -> None:
        """Keep the handlers, since this process does nothing else."""


class _Tasks:
    """Processes that run together, and end together."""

    def __init__(self) -> None:
        self._running: List[int] = []
        self._failed = 0  # the first exit status that is not 0, as a shell would say it
        self._told_to_end = False

    def start(self, task: Task, variables: Dict[str, str]) -> None:
        """Start one more, unless they were told to end."""
        if self._told_to_end:
            return
        self._running.append(_forked(task, variables))
        if self._told_to_end:  # while this one was started, so that it was not among those that were ended
            self.end()

    def end(self) -> None:
        """Tell all of them to end."""
        self._told_to_end = True
        self._signal(signal.SIGTERM)

    def wait(self, exits: ChildExits) -> int:
        """Wait for all; end the others when one fails. Return the first exit status that is not 0, else 0."""
        self._reap()
        while self._running and not self._failed:
            exits.wait(None)
            self._reap()
        if self._running:
            self.end()
            exits.wait_until(lambda: not self._reap(), KILL_AFTER_S)
            self._signal(signal.SIGKILL)
            exits.wait_until(lambda: not self._reap(), None)
        return self._failed

    def _signal(self, number: int) -> None:
        for process in self._running:
            with contextlib.suppress(ProcessLookupError):  # this came while it was being reaped
                os.kill(process, number)

    def _reap(self) -> List[int]:
        """Note which processes have ended; return the others."""
        for process in list(self._running):
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                self._running.remove(process)
                exit_code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else SIGNALLED + os.WTERMSIG(status)
                self._failed = self._failed or exit_code
        return self._running


def _forked(task: Task, variables: Dict[str, str]) -> int:
    """Return the number of a new process that does `task`. It has no file of this one but the standard ones."""
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED)
    process = os.fork()
    if process:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        return process
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in _HANDLED:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for name in os.listdir("/proc/self/fd"):
            if int(name) > LAST_STANDARD:
                with contextlib.suppress(OSError):  # that of the listing
                    os.close(int(name))
        os.environ.update(variables)
        status = task()
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
