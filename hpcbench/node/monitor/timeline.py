"""The timeline of a monitor: one file per node and run.

Its first line is a header, a JSON object: the run (ELEMENT-JOBID-RESTART-ATTEMPT), the host, the sources with their
columns, and the absent sources with the reasons. Each line after it is one reading of one source, a JSON array: the
index of the source in the header, the time in seconds of CLOCK_MONOTONIC, and a value for each column, null if it could
not be read. If the monitor was not killed, the last line is an object again: the cost of monitoring.
"""

import contextlib
import gzip
import json
import zlib
from bisect import bisect_left, bisect_right
from math import isfinite
from typing import IO, Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ...core.files import appending, no_link, write_all

SCHEMA = 1
INTERVAL_S = 0.1  # between two readings, if they do not take long
PREFIX, SUFFIX = "monitor-", ".jsonl"
# Maximum characters of a line, and of all lines: another user may have written the file. A monitor writes some 30 MB a
# day.
LONGEST_LINE, MOST_READ = 2**20, 2**30


def file_name(host: str) -> str:
    """Return the name of the file that the monitor on `host` writes."""
    return PREFIX + host + SUFFIX


class Writer:
    """Write a timeline."""

    def __init__(self, path: str, header: Dict[str, Any]) -> None:
        self._file: IO[str] = open(path, "w", encoding="utf-8", buffering=1 << 16, opener=no_link)  # noqa: SIM115 - until the end
        self._line(json.dumps(dict(header, schema=SCHEMA), separators=(",", ":")))
        self.flush()

    def reading(self, source: int, now: float, values: Sequence[Optional[float]]) -> None:
        shown = [repr(value) if value is not None and isfinite(value) else "null" for value in values]
        self._line("[%d,%.4f,%s]" % (source, now, ",".join(shown)))

    def flush(self) -> None:
        """Pass what has been written so far to the operating system."""
        self._file.flush()

    def end(self, costs: Dict[str, Any]) -> None:
        """Write the last line, and close the file."""
        self._line(json.dumps(costs, separators=(",", ":")))
        self._file.close()

    def close(self) -> None:
        """Close the file, even if the disk is full."""
        with contextlib.suppress(OSError):
            self._file.close()

    def _line(self, text: str) -> None:
        self._file.write(text + "\n")


class Series(NamedTuple):
    """The readings of one column, without those that are null."""

    times_s: List[float]
    values: List[float]


class Timeline:
    """The readings of a timeline, and its header."""

    def __init__(self, header: Dict[str, Any], series: Dict[str, Series], ended: Optional[Dict[str, Any]]) -> None:
        self.host: str = header["host"]
        self.run: str = header.get("run", "")
        self.gauges = frozenset(header["gauges"])  # the columns of current values; the others are counters
        self.facts: Dict[str, Any] = header["facts"]
        self.absent: Dict[str, str] = header["absent"]  # the reasons, by source
        self.ended = ended  # None if the monitor was killed
        self._series = series

    @property
    def columns(self) -> List[str]:
        """Return the columns that have readings."""
        return [name for name in self._series if self.has(name)]

    def has(self, column: str) -> bool:
        return bool(self._series.get(column, _NONE).times_s)

    def span(self, column: str) -> Optional[Tuple[float, float]]:
        """Return the times of the first and the last reading of a column in seconds; None without readings."""
        times_s = self._series.get(column, _NONE).times_s
        return (times_s[0], times_s[-1]) if times_s else None

    def increase(self, column: str, start_s: float, end_s: float) -> Optional[float]:
        """Return the increase of a counter between two times, interpolated; None without readings there."""
        series = self._series.get(column, _NONE)
        if len(series.times_s) < 2 or start_s >= series.times_s[-1] or end_s <= series.times_s[0]:
            return None
        return _at(series, end_s) - _at(series, start_s)

    def values(self, column: str, start_s: float, end_s: float) -> List[float]:
        """Return the readings of a gauge between two times."""
        series = self._series.get(column, _NONE)
        return series.values[bisect_left(series.times_s, start_s) : bisect_right(series.times_s, end_s)]

    def around(self, column: str, start_s: float, end_s: float) -> Series:
        """Return the readings of a column between two times, with the last one before and the first one after them."""
        series = self._series.get(column, _NONE)
        first = max(bisect_right(series.times_s, start_s) - 1, 0)
        last = bisect_left(series.times_s, end_s) + 1
        return Series(series.times_s[first:last], series.values[first:last])


_NONE = Series([], [])


def _at(series: Series, time_s: float) -> float:
    place = bisect_left(series.times_s, time_s)
    if place == 0:
        return series.values[0]
    if place == len(series.times_s):
        return series.values[-1]
    before, after = series.times_s[place - 1], series.times_s[place]
    part = (time_s - before) / (after - before)
    return series.values[place - 1] + part * (series.values[place] - series.values[place - 1])


class _Reading:
    """A timeline whose lines are added one by one."""

    def __init__(self, header: Dict[str, Any]) -> None:
        self._header = header
        self._columns: List[List[Tuple[str, Series]]] = [
            [(name, Series([], [])) for name in source] for source in header["sources"].values()
        ]
        self._ended: Optional[Dict[str, Any]] = None

    def add(self, line: Any) -> None:
        if isinstance(line, dict):
            self._ended = line
            return
        if not isinstance(line, list) or not line or line[0] not in range(len(self._columns)):
            return
        for (_, series), value in zip(self._columns[line[0]], line[2:]):
            if value is not None:
                series.times_s.append(line[1])
                series.values.append(value)

    def timeline(self) -> Timeline:
        series = {name: series for source in self._columns for name, series in source}
        return Timeline(self._header, series, self._ended)


def read(path: str) -> Optional[Timeline]:
    """Return the timeline in a file, which may be cut off; None if it lacks a header."""
    lines = (line for line in map(_parsed, _lines(path)) if line is not None)
    header: Any = next(lines, None)
    if not _is_header(header):
        return None
    reading = _Reading(header)
    for line in lines:
        reading.add(line)
    return reading.timeline()


def read_kept(path: str, wanted: Callable[[Dict[str, Any]], bool]) -> List[Timeline]:
    """Return those timelines of a file of `keep` whose header is `wanted`; the readings of others are not parsed.

    Timelines after a damaged place may be lost. Return none if the file is missing or cannot be read.
    """
    found: List[_Reading] = []
    reading: Optional[_Reading] = None
    with contextlib.suppress(OSError, EOFError, zlib.error):
        for text in _lines(path):
            if not text.startswith("{"):
                if reading:
                    reading.add(_parsed(text))
                continue
            line = _parsed(text)
            if _is_header(line):
                reading = _Reading(line) if wanted(line) else None
                found += [reading] if reading else []
            elif reading and isinstance(line, dict):
                reading.add(line)
                reading = None  # lines before the next header belong to no timeline
    return [each.timeline() for each in found]


def _is_header(line: Any) -> bool:
    return isinstance(line, dict) and line.get("schema") == SCHEMA


def _parsed(text: str) -> Any:
    """Return the value of a line; None if it is not JSON: it may be cut off, and a full disk or a crash leaves gaps."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _lines(path: str) -> Iterator[str]:
    """Yield the lines of a file. A line that is too long comes in pieces, which are not JSON."""
    opener: Any = gzip.open if path.endswith(".gz") else open
    left = MOST_READ
    with opener(path, "rt", encoding="utf-8", errors="replace") as file:
        while left > 0:
            text: str = file.readline(LONGEST_LINE)
            if not text:
                return
            left -= len(text)
            yield text


def keep(path: str, kept: str) -> None:
    """Append a timeline to a file of timelines, each compressed separately: gzip(1) decompresses them as one text."""
    with open(path, "rb") as plain:
        packed = gzip.compress(plain.read(), 6)
    with appending(kept) as handle:
        write_all(handle, packed)
