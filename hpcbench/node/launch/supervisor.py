"""Supervise a rank: outlive its worker, and record how it ended.

A killed worker cannot report its end. The supervisor passes its output on, stores the last lines, and writes one file
per rank, from which `results/record_writer.py` makes the record.
"""

import collections
import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from typing import IO, Any, Callable, Deque, Dict, Iterable, List, Optional, Sequence

from ...core import redaction
from ...core.files import no_link
from ...core.metrics.plain_text import plain
from ...core.rank_command import RankTask
from ...core.run_spec import TORCHRUN, PlannedRun
from ...core.status import LAST_LINES, TIME_LIMIT
from ...core.variables import performance
from ...core.variables.worker import for_worker
from .. import complaint
from ..checks import governor, turbo
from ..host import hardware
from ..host.sysfs import this_system
from ..monitor.processes import MARK
from . import command, command_launcher, feasibility, preload
from .line_blocks import line_blocks
from .output_copy import OutputCopy
from .rank_files import EARLY, output_of
from .ranks import Ranks

LINE_LENGTH = 500
TERMINATE_GRACE_S = 2.0
_ERROR_LINES = 200  # kept of standard error: torchrun adds a long report to the error of a process
DRAIN_S = 2.0  # for the rest of a pipe after its writer has ended
MOMENT_S = 0.001  # a timer of 0 s would never fire


def supervise(
    planned: PlannedRun, ranks: Ranks, worker: List[str], workspace: str, task: RankTask, warnings: Sequence[str] = ()
) -> int:
    """Run one rank, by `worker` or the case's own command, up to the limit of its task; return its exit status.

    `warnings` become warnings of the run.
    """
    scratch = task.scratch
    before = hardware.oom_kills()
    started = time.time()
    preloaded = preload.found(planned.parameters, os.environ)
    environment = for_worker(planned.parameters, os.environ, preloaded)
    own = for_worker(planned.parameters, {}, preloaded)
    outside = performance.outside(environment, own, os.environ.get(performance.SET_UP, ""))
    # The monitor finds the processes of the run by this variable. Launchers of tasks do not have it: the CPUs of the
    # run are those that its processes may run on, and a launcher may run on all.
    environment[MARK] = os.path.basename(scratch)
    stopper = _Stopper(task.limit_s)
    if planned.is_command:
        ending = _run_command(planned, ranks, workspace, task, environment, stopper)
    else:
        ending = _run_worker(worker, workspace, environment, stopper)
    ending["warnings"] = list(warnings)
    ending["rank"] = ranks.rank
    ending["started_at"] = started
    ending["node"] = {**hardware.describe(), **_clock_settings()}
    ending["host"] = ranks.host
    ending["environment"] = redaction.redacted(performance.allowed_variables(environment), os.environ)
    ending["outside"] = outside
    after = hardware.oom_kills()
    ending["oom_kills"] = _difference(after.own, before.own)
    ending["oom_kills_of_machine"] = _difference(after.machine, before.machine)
    if ending.get("is_measured"):
        ending["warnings"].append(_after_measurement(ending))
    _write(ending, os.path.join(scratch, "rank-%d.json" % ranks.rank))
    return int(ending["exit_status"])


def _clock_settings() -> Dict[str, Any]:
    """Return the settings of the CPU clock; null if unknown, as on most virtual machines."""
    system = this_system()
    return {"governor": ", ".join(governor.chosen(system)) or None, "turbo": turbo.is_on(system)}


def _run_worker(words: List[str], workspace: str, environment: Dict[str, str], stopper: "_Stopper") -> Dict[str, Any]:
    read_end, write_end = os.pipe()
    worker = subprocess.Popen(
        words + ["--result-fd", str(write_end)],
        cwd=workspace,  # relative paths of data start here
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(write_end,),
    )
    os.close(write_end)
    stopper.ends(worker.send_signal)
    last_lines: Deque[bytes] = collections.deque(maxlen=LAST_LINES)
    result = _Reader(os.fdopen(read_end, "rb"))
    echoes = [_Echo(worker.stdout, 1, ()), _Echo(worker.stderr, 2, (last_lines,))]
    returned, ended_at = worker.wait(), time.time()
    for echo in echoes:
        echo.join(timeout=DRAIN_S)  # a child of the worker may hold the pipe open
    ending, facts = _ending(returned, ended_at, stopper, last_lines), result.parsed()
    if facts and facts.pop(EARLY, False):
        ending["is_measured"] = stopper.signal == TIME_LIMIT or not (stopper.signal or returned == -signal.SIGTERM)
        if ending["is_measured"]:
            ending["exit_status"] = 0  # the launcher would stop the other ranks
        else:  # stopped as a whole: the run is repeated
            facts = None
    return {**ending, "facts": facts}


def _after_measurement(ending: Dict[str, Any]) -> str:
    """Return the warning of a run whose worker ended after its measurement, and before its result was complete."""
    code, number = ending["exit_code"], ending["signal"]
    how = "was killed by %s" % number if number else "exited with %s" % code
    if ending["stopped_by"] == TIME_LIMIT:
        how = "reached the time limit per run"
    elif ending["oom_kills"]:
        how = "was killed because memory ran out"
    return "after its measurement, the process of a rank %s: what follows the measurement is incomplete" % how


def _run_command(
    planned: PlannedRun, ranks: Ranks, workspace: str, task: RankTask, environment: Dict[str, str], stopper: "_Stopper"
) -> Dict[str, Any]:
    """Run the command and time it from start to end; then kill its remaining processes."""
    missing = feasibility.what_is_missing(planned)
    if missing:
        return {**_ending(1, time.time(), stopper, []), "facts": command.unsupported(missing)}
    try:
        with command_launcher.words(planned, ranks, task.launcher) as words:
            return _run_words(words, ranks.rank, workspace, task, environment, stopper)
    except command_launcher.NotLaunched as error:
        return _not_started(error, stopper)


def _not_started(error: Exception, stopper: "_Stopper") -> Dict[str, Any]:
    message = str(error)
    if getattr(error, "filename", None) == TORCHRUN:
        message += " (it is part of PyTorch; set `environment` to an environment that contains PyTorch)"
    ending = _ending(1, time.time(), stopper, [b"the command cannot be started: %s" % os.fsencode(message)])
    return {**ending, "facts": command.facts(ending, 0.0, time.monotonic(), True, None, ending["last_lines"][-1])}


def _run_words(
    words: List[str], rank: int, workspace: str, task: RankTask, environment: Dict[str, str], stopper: "_Stopper"
) -> Dict[str, Any]:
    last_lines: Deque[bytes] = collections.deque(maxlen=LAST_LINES)
    start = time.monotonic()
    try:
        process = command.start(words, workspace, task.scratch, environment, task.zipapp)
    except OSError as error:
        return _not_started(error, stopper)

    def kill(number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)

    stopper.ends(kill)
    copies = output_of(rank, task.scratch)
    errors: Deque[bytes] = collections.deque(maxlen=_ERROR_LINES)  # the two pipes have no common order
    try:
        echoes = [
            _Echo(process.stdout, 1, (last_lines,), copies.standard),
            _Echo(process.stderr, 2, (last_lines, errors), copies.error),
        ]
    except OSError:  # full disk: the command would continue without its supervisor
        kill(signal.SIGKILL)
        process.wait()
        raise
    returned = process.wait()
    end, ended_at = time.monotonic(), time.time()
    kill(signal.SIGKILL)
    for echo in echoes:
        echo.join(timeout=DRAIN_S)
    ending = _ending(returned, ended_at, stopper, last_lines)
    complete = all(echo.complete for echo in echoes)
    exhausted = command.last_word_of_memory(ending, copies) if complete else None
    last = _reason(errors) or _reason(last_lines)
    return {**ending, "facts": command.facts(ending, end - start, end, complete, exhausted, last)}


def _reason(output: Deque[bytes]) -> str:
    """Return the last line that gives a reason for a failure, or an empty text."""
    lines = [_readable(line) for line in list(output)]
    return complaint.of_slurm(lines) or complaint.last_words(lines)


def _ending(returned: int, ended_at: float, stopper: "_Stopper", last_lines: Iterable[bytes]) -> Dict[str, Any]:
    """Return how a process ended. `ended_at` is not when its pipes closed: it shows which rank failed first."""
    return {
        "ended_at": ended_at,
        "exit_status": returned if returned >= 0 else 128 - returned,  # as in a shell
        "exit_code": returned if returned >= 0 else None,
        "signal": _signal_name(-returned) if returned < 0 else None,
        "stopped_by": stopper.signal,
        "last_lines": [_readable(line) for line in list(last_lines)],
    }


def _readable(line: bytes) -> str:
    """Return a line without secrets; for a progress bar, its last state."""
    text = plain(line.decode("utf-8", "replace")).rstrip("\n").rpartition("\n")[2]
    redacted: str = redaction.redacted(text, os.environ)
    return redacted[:LINE_LENGTH]  # cut after redacting: half a secret is not recognised


class _Stopper:
    """Forward a signal or the time limit to the supervised process, and kill it after a grace time."""

    def __init__(self, limit_s: Optional[float]) -> None:
        self.signal: Optional[str] = None
        self._send: Optional[Callable[[int], Any]] = None
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        if limit_s is not None:
            signal.signal(signal.SIGALRM, self._on_signal)
            signal.setitimer(signal.ITIMER_REAL, max(limit_s, MOMENT_S))

    def ends(self, send: Callable[[int], Any]) -> None:
        """Pass signals to `send` from now on, including one that has already arrived."""
        self._send = send
        if self.signal:
            self._stop()

    def _on_signal(self, number: int, frame: Any) -> None:
        if not self.signal:
            self.signal = TIME_LIMIT if number == signal.SIGALRM else signal.Signals(number).name
            self._stop()

    def _stop(self) -> None:
        if self._send:
            self._send(signal.SIGTERM)
            killer = threading.Timer(TERMINATE_GRACE_S, self._send, [signal.SIGKILL])
            killer.daemon = True
            killer.start()


class _Reader(threading.Thread):
    """Read the worker's result while it runs, so that a full pipe cannot stop it."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._parts: List[bytes] = []
        self.start()

    def run(self) -> None:
        for part in iter(lambda: os.read(self._pipe.fileno(), 65536), b""):
            self._parts.append(part)

    def parsed(self) -> Optional[Dict[str, Any]]:
        """Return the last whole result, or None if the worker died before it had one."""
        self.join(timeout=DRAIN_S)
        for line in reversed(b"".join(self._parts).splitlines()):
            with contextlib.suppress(ValueError):
                facts: Dict[str, Any] = json.loads(line)
                return facts
        return None


class _Echo(threading.Thread):
    """Pass a stream on in whole lines, without secrets; store its last lines and, if requested, a copy."""

    def __init__(
        self, pipe: Optional[IO[bytes]], descriptor: int, last: Sequence[Deque[bytes]], copy: Optional[str] = None
    ) -> None:
        super().__init__(daemon=True)
        assert pipe is not None  # noqa: S101 - the caller used subprocess.PIPE
        self._pipe = pipe
        self._descriptor = descriptor
        self._last = last
        self._copy = OutputCopy(copy) if copy else None
        self._redactor = redaction.Redactor(os.environ)
        self.start()

    @property
    def complete(self) -> bool:
        """Return whether the stream has ended, and its copy is complete: nothing was lost on a full disk."""
        return (self._copy is None or self._copy.is_whole) and not self.is_alive()

    def run(self) -> None:
        for block in line_blocks(self._pipe):
            self._pass_on(self._redactor.fed(block))
        self._pass_on(self._redactor.rest())
        if self._copy:
            self._copy.close()

    def _pass_on(self, block: bytes) -> None:
        if not block:
            return
        for lines in self._last:
            lines.extend(block[:-1].split(b"\n") if block.endswith(b"\n") else block.split(b"\n"))
        if self._copy:
            self._copy.write(block)
        with contextlib.suppress(OSError):  # full disk or closed pipe: continue to read, or the program would block
            os.write(self._descriptor, block)


def _signal_name(number: int) -> str:
    """Return the name of a signal. Python has names only for the first and the last real-time signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return "SIG%d" % number


def _difference(after: Optional[int], before: Optional[int]) -> Optional[int]:
    return None if after is None or before is None else after - before


def _write(ending: Dict[str, Any], path: str) -> None:
    """Write the file atomically: it gets its final name only when it is complete."""
    with open(path + ".part", "w", encoding="utf-8", opener=no_link) as file:
        json.dump(redaction.redacted(ending, os.environ), file, separators=(",", ":"))
    os.replace(path + ".part", path)
