"""The local launcher, which replaces srun on a machine without Slurm.

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

KILL_AFTER_S = 8.0  # a supervisor may need 6 s to end its worker and to write its file
_MEETINGS_APART = 101  # distance between the first ports that launchers of one process try
LAST_STANDARD = 2  # the descriptor of standard error
_HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD)  # by this process; tasks get the default handlers

Task = Callable[[], int]  # runs in a new process; returns its exit status
Stopping = Callable[[Callable[[], None]], ContextManager[None]]

_launched = 0


def executing(command: List[str]) -> Task:
    """Return a task that replaces its process by another program."""

    def execute() -> int:
        for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores these
            signal.signal(number, signal.SIG_DFL)
        try:
            os.execvp(command[0], command)
        except OSError as error:
            print("hpcbench: %s: %s" % (command[0], error.strerror), file=sys.stderr)
        return 127

    return execute


def run_tasks(tasks: int, cpus_per_task: int, task: Task, stopping: Stopping) -> int:
    """Run `task` in `tasks` processes, each on CPUs of its own if there are enough; return what `run_on` returns."""
    cpus = usable_cpus()
    share = cpus_per_task if tasks * cpus_per_task <= len(cpus) else 0
    shares = [cpus[rank * share : (rank + 1) * share] for rank in range(tasks)]
    return run_on(shares, task, stopping)


def run_on(shares: Sequence[Sequence[int]], task: Task, stopping: Stopping) -> int:
    """Run `task` in a process for each share of CPUs; an empty share does not bind.

    Return the first exit status that is not 0, otherwise 0. `stopping` makes a context that calls the given function
    when all processes have to end.
    """
    global _launched
    _launched += 1
    started = _Tasks()
    # The first port that its ranks try, and a random token: the process id is not unique, because a container may
    # number its processes from 1.
    launcher = "%d.%s" % (os.getpid() + _MEETINGS_APART * (_launched - 1), os.urandom(8).hex())
    with ChildExits() as exits, stopping(started.end):
        for rank, share in enumerate(shares):
            variables = {"HPCBENCH_RANK": str(rank), "HPCBENCH_RANKS": str(len(shares)), "HPCBENCH_LAUNCHER": launcher}
            if share:
                variables["HPCBENCH_CPUS"] = ",".join(map(str, share))
            started.start(task, variables)
        return started.wait(exits)


def spawn_on(shares: Sequence[Sequence[int]], command: List[str]) -> int:
    """Run a command in a process for each share of CPUs, as `run_on`, and end all on SIGTERM or SIGINT."""
    return run_on(shares, executing(command), EndOnSignal)


class EndOnSignal:
    """A context that calls a function on SIGTERM and SIGINT, for a process that does nothing else."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback = callback

    def __enter__(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, frame: self._callback())

    def __exit__(self, *_: Any) -> None:
        """Leave the handlers installed, since this process does nothing else."""


class _Tasks:
    """Processes that run together, and end together."""

    def __init__(self) -> None:
        self._running: List[int] = []
        self._failed = 0  # the first exit status that is not 0; 128 + N after signal N
        self._told_to_end = False

    def start(self, task: Task, variables: Dict[str, str]) -> None:
        """Start another process, unless all have to end."""
        if self._told_to_end:
            return
        self._running.append(_forked(task, variables))
        if self._told_to_end:  # in the meantime: the new process was not in the list yet
            self.end()

    def end(self) -> None:
        """Send SIGTERM to all processes, and start no more."""
        self._told_to_end = True
        self._signal(signal.SIGTERM)

    def wait(self, exits: ChildExits) -> int:
        """Wait for all processes; end the others when one fails. Return the first nonzero exit status, otherwise 0."""
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
            with contextlib.suppress(ProcessLookupError):  # reaped, but not removed from the list yet
                os.kill(process, number)

    def _reap(self) -> List[int]:
        """Reap the processes that have ended; return the others."""
        for process in list(self._running):
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                self._running.remove(process)
                exit_code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else SIGNALLED + os.WTERMSIG(status)
                self._failed = self._failed or exit_code
        return self._running


def _forked(task: Task, variables: Dict[str, str]) -> int:
    """Return the id of a new process that runs `task`, with only the standard descriptors open."""
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
                with contextlib.suppress(OSError):  # the descriptor of the listing itself
                    os.close(int(name))
        os.environ.update(variables)
        status = task()
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
