"""The monitor itself: reads every source when it is due, until its standard input ends.

The job script holds the other end of that pipe. Whatever becomes of the script, the monitor ends with it.
"""

import gc
import os
import select
import sys
import time
from typing import Any, Dict, List, Optional

from . import host, sources
from .budget import allowances
from .files import Files
from .processes import OwnProcesses
from .sources.base import GAUGE, Place, Source
from .timeline import Writer, file_name

INTERVAL_S = 0.1
FINEST = 1 / 5000  # of the time watched so far, that lies between two readings
REFRESH_SHARE = 0.001  # of one core, that looking for new processes may take
REFRESH_S = (1.0, 3.0)  # looking again though none has begun, for they may be moved; and at the latest
SHARE = 0.0035  # of one core, that reading may take in all: what costs more is read less often
MOST = 0.0045  # of one core, that all may take: else ticks are farther apart
TIMED = 10  # each so many readings of a source are timed: to look at the clock costs time, too
SMOOTHING = 0.1


class _Scheduled:
    """A source, and when it is due."""

    def __init__(self, number: int, source: Source, interval_s: float) -> None:
        self.number = number
        self.source = source
        self.due = 0.0
        self.failed: Optional[str] = None
        self.share = SHARE
        self._period_s = max(source.period_s, interval_s)
        self._cost_s = 0.0
        self._readings = 0

    @property
    def demand(self) -> float:
        """The part of a core that reading it as often as it wants would take."""
        return 0.0 if self.failed else self._cost_s / self._period_s

    def read(self, now: float, writer: Writer) -> None:
        timed = self._readings % TIMED == 0
        self._readings += 1
        started_s = time.thread_time() if timed else 0.0
        try:
            writer.reading(self.number, now, self.source.read())
        except Exception as error:  # it has gone, or says what nobody foresaw: the others go on
            self.failed = "it failed while it was read: %r" % error
            return
        if timed:
            self._cost_s += (time.thread_time() - started_s - self._cost_s) / 2
        self.due = now + max(self.source.period_s, self._cost_s / self.share)


def watch(folder: str, mark: str, interval_s: float = INTERVAL_S) -> int:
    """Write the timeline of this node to `folder`, until the standard input ends. Tells by a line when it has begun."""
    own = OwnProcesses(mark)
    own.refresh()  # before those of the repetition come
    found, absent = sources.present(Place(own, Files()))
    own_host = host.name(os.environ)
    header: Dict[str, Any] = {
        "host": own_host,
        "interval_s": interval_s,
        "sources": {source.name: list(source.columns) for source in found},
        "gauges": [name for source in found for name, kind in source.columns.items() if kind == GAUGE],
        "facts": {source.name: source.facts() for source in found if source.facts()},
        "absent": absent,
    }
    now, used_s = time.monotonic(), time.process_time()
    os.makedirs(folder, exist_ok=True)
    writer = Writer(os.path.join(folder, file_name(own_host)), header, now)
    print("hpcbench: watching", flush=True)
    gc.disable()  # nothing here refers to itself, and looking for that takes time
    scheduled = [_Scheduled(number, source, interval_s) for number, source in enumerate(found)]
    ticks = _run(scheduled, own, writer, interval_s)
    failed = {each.source.name: each.failed for each in scheduled if each.failed}
    elapsed_s = time.monotonic() - now
    writer.end(
        {
            "ended_s": now + elapsed_s,
            "elapsed_s": elapsed_s,
            "cpu_s": time.process_time() - used_s,
            "ticks": ticks,
            "failed": failed,
        }
    )
    return 0


def interval_after(elapsed_s: float, finest_s: float, cost_s: float) -> float:
    """How far apart readings lie so long after the first, where each tick costs so much: a timeline of days can be read
    into memory, too."""
    return max(finest_s, elapsed_s * FINEST, cost_s / MOST)


def _run(scheduled: List[_Scheduled], own: OwnProcesses, writer: Writer, interval_s: float) -> int:
    """Ticks until the end; the number of them. One that was missed is not made up for."""
    poll = select.poll()
    poll.register(sys.stdin, select.POLLIN | select.POLLHUP)
    began_s, finest_s = time.monotonic(), interval_s
    used_s, tick_s = time.process_time(), 0.0  # what a tick costs, on average
    refresh_at = stale_at = 0.0
    ticks = 0
    while True:
        now = time.monotonic()
        interval_s = interval_after(now - began_s, finest_s, tick_s)
        if now >= refresh_at and (now >= stale_at or own.may_have_changed()):
            started = time.thread_time()
            own.refresh()
            cost_s = time.thread_time() - started
            for each, share in zip(scheduled, allowances([each.demand for each in scheduled], SHARE)):
                each.share = share
            rest_s = min(cost_s / REFRESH_SHARE, REFRESH_S[1])
            refresh_at, stale_at = now + rest_s, now + max(rest_s, REFRESH_S[0])
        for each in scheduled:
            if each.due <= now + interval_s / 2 and not each.failed:
                each.read(time.monotonic(), writer)
        writer.flush(now)
        ticks += 1
        before_s, used_s = used_s, time.process_time()
        tick_s += SMOOTHING * (used_s - before_s - tick_s)
        rest_s = now + interval_s - time.monotonic()
        if poll.poll(max(0.0, rest_s) * 1000) and not os.read(sys.stdin.fileno(), 4096):
            for each in scheduled:  # those that were not due: their counters have gone on
                if not each.failed:
                    each.read(time.monotonic(), writer)
            return ticks
