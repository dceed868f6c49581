"""Lustre, as seen by this node's clients: reads and writes of programs, including those that caches serve."""

import glob
import os
import re
from typing import Any, Dict, List, Tuple

from ...host.open_files import why_unreadable
from ..counters import Counter
from .base import COUNTER, TWICE_A_SECOND, Absent, HostView, Source, Values

_PLACES = ("proc/fs/lustre/llite", "sys/kernel/debug/lustre/llite")  # until 2.11; since 2.12
_SIGNS = ("proc/fs/lustre", "sys/fs/lustre", "sys/kernel/debug/lustre")
# A line is `read_bytes 12 samples [bytes] 4096 1048576 209715200`: count, unit, minimum, maximum, sum.
_LINE = re.compile(rb"^(\w+)\s+(\d+) samples \[(\w+)\](?:\s+\d+\s+\d+\s+(\d+))?", re.MULTILINE)
_TRANSFERS = (b"read", b"write")  # since 2.14 with one line for bytes and one for times


class Lustre(Source):
    """`llite` statistics of all mounts, for the whole node. Operations are all calls that do not transfer data."""

    name = "lustre"
    columns = {"lustre.read_bytes": COUNTER, "lustre.written_bytes": COUNTER, "lustre.operations": COUNTER}
    period_s = TWICE_A_SECOND

    def __init__(self, host: HostView) -> None:
        super().__init__(host)
        found = [path for root in _PLACES for path in glob.glob(host.path(root, "*", "stats"))]
        self._mounts = {path: (Counter(), Counter(), Counter()) for path in found if not why_unreadable(path)}
        if not self._mounts:
            raise Absent(_why(host))
        self._sums = [0.0, 0.0, 0.0]

    def read(self) -> Values:
        for path, counters in self._mounts.items():
            content = self.host.files.read(path)
            if content:
                for index, (counter, reading) in enumerate(zip(counters, _counts(content))):
                    self._sums[index] += counter.step(reading)
        return [*self._sums]

    def facts(self) -> Dict[str, Any]:
        return {"mounts": sorted(os.path.basename(os.path.dirname(path)) for path in self._mounts)}


def _counts(content: bytes) -> Tuple[int, int, int]:
    """Return bytes read, bytes written, and other calls. A call that has not occurred yet has no line."""
    lines: List[Tuple[bytes, bytes, bytes, bytes]] = _LINE.findall(content)
    size = {name: int(total) for name, _, unit, total in lines if unit == b"bytes" and total}
    calls = [int(count) for name, count, unit, _ in lines if unit != b"bytes" and name not in _TRANSFERS]
    return size.get(b"read_bytes", 0), size.get(b"write_bytes", 0), sum(calls)


def _why(host: HostView) -> str:
    if any(os.path.exists(host.path(sign)) for sign in _SIGNS):
        return (
            "Lustre's counters cannot be read: since 2.12 they are in debugfs, which only root can read "
            "unless an administrator runs: chmod a+rx /sys/kernel/debug"
        )
    return "no Lustre on this node"
