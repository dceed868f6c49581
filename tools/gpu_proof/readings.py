"""The independent readings of probe.py, and their values in a time window."""

from __future__ import annotations

import gzip
import json
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

# The bits of nvmlClocksEventReasons in nvml.h.
REASONS = {
    0x1: "idle",
    0x2: "clock set by a user",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
    0x100: "display clock",
}


class Series(NamedTuple):
    """The readings of one quantity, without those that failed."""

    times_s: list[float]
    values: list[float]

    def at(self, time_s: float) -> float:
        """Return the value at a time between two readings, interpolated."""
        after = min(max(bisect_left(self.times_s, time_s), 1), len(self.times_s) - 1)
        (start_s, end_s), (low, high) = self.times_s[after - 1 : after + 1], self.values[after - 1 : after + 1]
        return low + (high - low) * (time_s - start_s) / (end_s - start_s)

    def within(self, start_s: float, end_s: float) -> list[float]:
        """Return the values of the readings in a window."""
        return [value for time_s, value in zip(*self, strict=True) if start_s <= time_s <= end_s]

    def covers(self, start_s: float, end_s: float) -> bool:
        """Return whether there are readings before and after a window."""
        return len(self.times_s) > 1 and self.times_s[0] <= start_s and end_s <= self.times_s[-1]


def read(file: Path) -> list[dict[str, Any]]:
    """Return the readings in a file, whose last line may be cut off."""
    found = []
    for line in file.read_text().splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def longest_gap_s(timeline: Path, source: str) -> float | None:
    """Return the longest time between two readings of a source in a timeline of hpcbench; None with fewer than two."""
    number, times_s = None, []
    with gzip.open(timeline, "rt") as file:
        for line in map(json.loads, file):
            if isinstance(line, dict):
                number = list(line["sources"]).index(source) if source in line.get("sources", ()) else number
            elif line[0] == number:
                times_s.append(line[1])
    return max((after - before for before, after in pairwise(times_s)), default=None)


def series(readings: Sequence[dict[str, Any]], name: str) -> Series:
    """Return the numbers that were read for one quantity."""
    known = [(each["time_s"], each[name]) for each in readings if isinstance(each.get(name), int | float)]
    return Series([time_s for time_s, _ in known], [value for _, value in known])


def named(bits: int) -> str:
    """Return the names of throttle reasons."""
    names = [name for bit, name in REASONS.items() if bits & bit]
    other = bits & ~sum(REASONS)
    return ", ".join([*names, *([hex(other)] if other else [])]) or "none"
