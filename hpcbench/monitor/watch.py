"""The monitor itself: reads every source when it is due, until its standard input ends.

The job script holds the other end of that pipe. Whatever becomes of the script, the monitor ends with it.
"""

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
REFRESH_SHARE, REFRESH_S = 0.0005, 3.0  # of one core, that looking for new processes may take; and how often at least
SHARE = 0.004  # of one core, that reading may take in all: what costs more is read less often


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

    @property
    def demand(self) -> float:
        """The part of a core that reading it as often as it wants would take."""
        return 0.0 if self.failed else self._cost_s / self._period_s

    def read(self, now: float, writer: Writer) -> None:
        started = time.thread_time()
        try:
            writer.reading(self.number, now, self.source.read())
        except Exception as error:  # it has gone, or says what nobody foresaw: the others go on
            self.failed = "it failed while it was read: %r" % error
            return
        cost_s = time.thread_time() - started
        self._cost_s += 0.2 * (cost_s - self._cost_s)
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


def interval_after(elapsed_s: float, finest_s: float) -> float:
    """How far apart readings lie so long after the first: a timeline of days can be read into memory, too."""
    return max(finest_s, elapsed_s * FINEST)


def _run(scheduled: List[_Scheduled], own: OwnProcesses, writer: Writer, interval_s: float) -> int:
    """Ticks at whole multiples of the interval, which grows; one that was missed is not made up for."""
    poll = select.poll()
    poll.register(sys.stdin, select.POLLIN | select.POLLHUP)
    began_s, finest_s = time.monotonic(), interval_s
    refresh_at = 0.0
    ticks = 0
    while True:
        now = time.monotonic()
        interval_s = interval_after(now - began_s, finest_s)
        if now >= refresh_at:
            started = time.thread_time()
            own.refresh()
            cost_s = time.thread_time() - started
            for each, share in zip(scheduled, allowances([each.demand for each in scheduled], SHARE)):
                each.share = share
            refresh_at = now + min(REFRESH_S, cost_s / REFRESH_SHARE)
        for each in scheduled:
            if each.due <= now + interval_s / 2 and not each.failed:
                each.read(time.monotonic(), writer)
        writer.flush(now)
        ticks += 1
        rest_s = interval_s - time.monotonic() % interval_s
        if poll.poll(rest_s * 1000) and not os.read(sys.stdin.fileno(), 4096):
            for each in scheduled:  # those that were not due: their counters have gone on
                if not each.failed:
                    each.read(time.monotonic(), writer)
            return ticks
