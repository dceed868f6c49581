"""The monitor itself: reads every source when it is due, until its standard input ends.

The job script holds the other end of that pipe. Whatever becomes of the script, the monitor ends with it.
"""

import os
import platform
import select
import sys
import time
from typing import Any, Dict, List, Optional

from . import sources
from .files import Files
from .processes import OwnProcesses
from .sources.base import Place, Source
from .timeline import Writer, file_name

INTERVAL_S = 0.1
REFRESH_S = 1.0  # between two looks for new processes
SHARE = 0.004  # of one core, that reading may take in all: a source that costs more is read less often


class _Scheduled:
    """A source, and when it is due."""

    def __init__(self, number: int, source: Source, share: float) -> None:
        self.number = number
        self.source = source
        self.due = 0.0
        self.failed: Optional[str] = None
        self._share = share
        self._cost_s = 0.0

    def read(self, now: float, writer: Writer) -> None:
        started = time.thread_time()
        try:
            writer.reading(self.number, now, self.source.read())
        except (OSError, ValueError, IndexError) as error:  # it has gone, or says what nobody foresaw
            self.failed = "it failed while it was read: %s" % error
            return
        cost_s = time.thread_time() - started
        self._cost_s += 0.2 * (cost_s - self._cost_s)
        self.due = now + max(self.source.period_s, self._cost_s / self._share)


def watch(folder: str, mark: str, interval_s: float = INTERVAL_S) -> int:
    """Write the timeline of this node to `folder`, until the standard input ends. Tells by a line when it has begun."""
    own = OwnProcesses(mark)
    found, absent = sources.present(Place(own, Files()))
    host = platform.node()
    header: Dict[str, Any] = {
        "host": host,
        "interval_s": interval_s,
        "sources": {source.name: list(source.columns) for source in found},
        "facts": {source.name: source.facts() for source in found if source.facts()},
        "absent": absent,
    }
    now = time.monotonic()
    os.makedirs(folder, exist_ok=True)
    writer = Writer(os.path.join(folder, file_name(host)), header, now)
    print("hpcbench: watching", flush=True)
    scheduled = [_Scheduled(number, source, SHARE / len(found)) for number, source in enumerate(found)]
    ticks = _run(scheduled, own, writer, interval_s)
    usage = os.times()
    failed = {each.source.name: each.failed for each in scheduled if each.failed}
    elapsed_s = time.monotonic() - now
    writer.end(
        {
            "ended_s": now + elapsed_s,
            "elapsed_s": elapsed_s,
            "cpu_s": usage.user + usage.system,
            "ticks": ticks,
            "failed": failed,
        }
    )
    return 0


def _run(scheduled: List[_Scheduled], own: OwnProcesses, writer: Writer, interval_s: float) -> int:
    """Ticks at whole multiples of the interval; one that was missed is not made up for."""
    poll = select.poll()
    poll.register(sys.stdin, select.POLLIN | select.POLLHUP)
    refresh_at = 0.0
    ticks = 0
    while True:
        now = time.monotonic()
        if now >= refresh_at:
            own.refresh()
            refresh_at = now + REFRESH_S
        for each in scheduled:
            if each.due <= now + interval_s / 2 and not each.failed:
                each.read(time.monotonic(), writer)
        writer.flush(now)
        ticks += 1
        rest_s = interval_s - time.monotonic() % interval_s
        if poll.poll(rest_s * 1000) and not os.read(sys.stdin.fileno(), 4096):
            return ticks
