"""The monitor: one process per node for all consecutive runs of a job, which reads every source when it is due.

The job's driver holds the other end of its standard input, so the monitor ends when the driver ends for any reason.
"""

import contextlib
import gc
import os
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from ...core.files import make_folder
from ..host import hostname
from ..host.open_files import Files
from . import idle_check, sources
from .processes import OwnProcesses
from .protocol import BEGIN, BUSY, END, ENDED, FAILED, IDLE, QUIET, WATCHING, Command, Commands, reply
from .sampling_budget import allowances
from .sources.base import GAUGE, HostView, Source, Values
from .timeline import INTERVAL_S, Writer, file_name

FINEST = 1 / 5000  # interval of readings as a fraction of the monitored time
SEARCH_SHARE = 0.0005  # of one core, for the search for new processes after the first are found
SEARCH_S = 3.0  # maximum interval of searches, since processes may be moved; limit of the saved share
SHARE = 0.0035  # of one core, for all readings: sources that cost more are read less often
WRITE_S = 1.0  # interval of writes: a killed monitor loses no more than that
MOST = 0.004  # of one core, for everything but the search: otherwise the interval grows
TIMED = 10  # one of so many readings of a source is timed, since reading the clock costs time, too
SMOOTHING = 0.1


class _Search:
    """The search for the run's processes: at every tick until some are found, since nothing is measured before.

    Later it searches when a process of the node has started, as often as its share allows, and every SEARCH_S seconds.
    """

    def __init__(self, own: OwnProcesses) -> None:
        self._own = own
        self._allowed_at = self._stale_at = 0.0

    def update(self, now: float) -> float:
        """Search if it is due. Return the CPU time that it took, in seconds."""
        if now < self._stale_at and (now < self._allowed_at or not self._own.may_have_changed()):
            return 0.0
        started_s = time.thread_time()
        self._own.refresh()
        cost_s = time.thread_time() - started_s
        if self._own.pids:
            self._allowed_at = max(self._allowed_at, now - SEARCH_S) + min(cost_s / SEARCH_SHARE, SEARCH_S)
            self._stale_at = now + SEARCH_S
        return cost_s


class _Scheduled:
    """A source, and when it is due."""

    def __init__(self, number: int, source: Source, interval_s: float) -> None:
        self.number = number
        self.source = source
        self.due = 0.0
        self.failed: Optional[str] = None
        self.share = SHARE + source.share
        self._period_s = max(source.period_s, interval_s)
        self._look_s = self._values_s = 0.0  # CPU seconds of a capture and of its values
        self._looks = 0
        self._rest_s = source.period_s
        self._seen: List[Tuple[float, Any]] = []  # times and captures

    @property
    def demand(self) -> float:
        """Return the fraction of a core that reading the source at its period takes, beyond the source's own share."""
        return 0.0 if self.failed else max(0.0, (self._look_s + self._values_s) / self._period_s - self.source.share)

    def update(self, now: float) -> None:
        timed = self._looks % TIMED == 0
        self._looks += 1
        started_s = time.thread_time() if timed else 0.0
        try:
            self._seen.append((now, self.source.capture()))
        except Exception as error:
            self._fails(error)
            return
        if timed:
            self._look_s += (time.thread_time() - started_s - self._look_s) / 2
        self.due = now + self._rest_s

    def write(self, writer: Writer) -> None:
        """Write the readings since the last call."""
        seen, self._seen = self._seen, []
        if not seen:
            return
        started_s = time.thread_time()
        values: List[Tuple[float, Values]] = []
        try:
            for now, each in seen:
                values.append((now, self.source.values(each)))
        except Exception as error:
            self._fails(error)
        for now, found in values:
            writer.reading(self.number, now, found)
        self._values_s = (time.thread_time() - started_s) / len(seen)
        self._rest_s = max(self.source.period_s, (self._look_s + self._values_s) / self.share)

    def _fails(self, error: Exception) -> None:
        """Stop reading the source after any error; the others continue."""
        self.failed = "reading it failed: %r" % error


def serve(commands: Commands) -> None:
    """Execute the commands of the driver, run after run, until the input ends."""
    host, trouble = hostname.name(os.environ), ""
    while True:
        command = commands.next()
        if command is None:
            return
        if command.get("do") == BEGIN:
            trouble = _serve_run(str(command["folder"]), command, commands, host)
        elif command.get("do") == END:  # of a run whose timeline ended earlier, e.g. on a full disk
            reply(command, host, ENDED, trouble)
        elif command.get("do") == IDLE:
            noise = idle_check.wait(float(command["wait_s"]), bool(command["gpus"]), commands.pause)
            reply(command, host, BUSY if noise else QUIET, noise or "")


def _serve_run(folder: str, command: Command, commands: Commands, host: str) -> str:
    trouble = ""
    try:
        trouble = watch(folder, os.path.basename(folder), commands, lambda: reply(command, host, WATCHING))
    except OSError as error:
        reply(command, host, FAILED, str(error))
    if commands.end is not None:
        reply(commands.end, host, ENDED, trouble)
    return trouble


def watch(folder: str, mark: str, commands: Commands, ready: Callable[[], None], interval_s: float = INTERVAL_S) -> str:
    """Write the timeline of this node to `folder`, until the run whose processes have `mark` is over.

    Call `ready` after the start. Return the error that ended the writing, otherwise an empty text. Raise OSError if the
    timeline cannot be created.
    """
    with contextlib.closing(OwnProcesses(mark)) as own, contextlib.closing(Files()) as files:
        own.begin()
        found, absent = sources.present(HostView(own, files))
        own_host = hostname.name(os.environ)
        header: Dict[str, Any] = {
            "run": mark,
            "host": own_host,
            "interval_s": interval_s,
            "sources": {source.name: list(source.columns) for source in found},
            "gauges": [name for source in found for name, kind in source.columns.items() if kind == GAUGE],
            "facts": {source.name: source.facts() for source in found if source.facts()},
            "absent": absent,
        }
        start_cpu_s = time.process_time()
        make_folder(folder)
        writer = Writer(os.path.join(folder, file_name(own_host)), header)
        ready()
        scheduled = [_Scheduled(number, source, interval_s) for number, source in enumerate(found)]
        try:
            _write_timeline(scheduled, own, writer, interval_s, commands, start_cpu_s)
        except OSError as error:  # full disk: the earlier readings are written
            return str(error)
        finally:
            writer.close()
    return ""


def _write_timeline(
    scheduled: List[_Scheduled],
    own: OwnProcesses,
    writer: Writer,
    interval_s: float,
    commands: Commands,
    start_cpu_s: float,
) -> None:
    """Write readings until the run is over, then their cost. `start_cpu_s` is the CPU time before the first reading."""
    start_s = time.monotonic()
    gc.disable()  # there are no reference cycles, and the search for them takes time
    try:
        ticks = _run(scheduled, own, writer, interval_s, commands)
    finally:
        gc.enable()
    elapsed_s = time.monotonic() - start_s
    writer.end(
        {
            "ended_s": start_s + elapsed_s,
            "elapsed_s": elapsed_s,
            "start_cpu_s": start_cpu_s,
            "cpu_s": time.process_time() - start_cpu_s,
            "ticks": ticks,
            "failed": {each.source.name: each.failed for each in scheduled if each.failed},
        }
    )


def interval_after(elapsed_s: float, finest_s: float, cost_s: float, most: float = MOST) -> float:
    """Return the interval of readings in seconds, `elapsed_s` after the first, if a tick costs `cost_s` of CPU time.

    Readings may take the fraction `most` of a core. The interval grows with time, so that even a timeline of days can
    be read into memory.
    """
    return max(finest_s, elapsed_s * FINEST, cost_s / most)


def _run(scheduled: List[_Scheduled], own: OwnProcesses, writer: Writer, interval_s: float, commands: Commands) -> int:
    """Read the sources at each tick until the run is over; return the number of ticks. Missed ticks are skipped."""
    began_s, finest_s = time.monotonic(), interval_s
    used_s, tick_s = time.process_time(), 0.0  # average CPU seconds of a tick
    most = MOST + sum(each.source.share for each in scheduled)
    search = _Search(own)
    write_at = 0.0
    ticks = 0
    while True:
        now = time.monotonic()
        interval_s = interval_after(now - began_s, finest_s, tick_s, most)
        searching_s = search.update(now)
        for each in scheduled:
            if each.due <= now + interval_s / 2 and not each.failed:
                each.update(time.monotonic())
        if now >= write_at:
            write_at = now + WRITE_S
            _write(scheduled, writer)
            for each, share in zip(scheduled, allowances([each.demand for each in scheduled], SHARE)):
                each.share = share + each.source.share
        before_s, used_s = used_s, time.process_time()
        if ticks:  # the first tick opens every file
            tick_s += SMOOTHING * (used_s - before_s - searching_s - tick_s)
        ticks += 1
        rest_s = now + interval_s - time.monotonic()
        if commands.is_over(rest_s):
            for each in scheduled:  # all, also those that are not due: their counters have changed
                if not each.failed:
                    each.update(time.monotonic())
            _write(scheduled, writer)
            return ticks


def _write(scheduled: List[_Scheduled], writer: Writer) -> None:
    """Write the readings of many ticks at once, in a fifth of the time, because the code stays in the caches."""
    for each in scheduled:
        each.write(writer)
    writer.flush()
