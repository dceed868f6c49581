"""Read the files in which hpcbench_probe recorded the steps of the processes of a command.

The package hpcbench_probe describes the format. A process that was killed may have left a torn last line, and any
program can write to the folder: invalid files are skipped, each with a message.
"""

import binascii
import json
import math
import operator
import os
import stat
import sys
from array import array
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from ..launch.rank_files import FOLDER

FORMAT = 1
_IN_RUN = ".hpcbench_probe"  # subfolder of the run folder
_SUFFIX = ".jsonl"
DATA = "data"  # the phase of waiting for a batch


class Series:
    """Numbers with their steps, in arrays: 16 bytes per pair, because a process may record millions."""

    def __init__(self) -> None:
        self._steps, self._numbers = array("q"), array("d")

    def extend(self, steps: Sequence[int], numbers: Sequence[float]) -> None:
        """Add numbers and their steps. Raise ValueError if there are none, or if the counts differ."""
        if not steps:
            raise ValueError("a series is empty")
        if len(steps) != len(numbers):
            raise ValueError("a line has %d steps, but %d values" % (len(steps), len(numbers)))
        self._steps.extend(steps)
        self._numbers.extend(numbers)

    def __iter__(self) -> Iterator[Tuple[int, float]]:
        return zip(self._steps, self._numbers)


class ProbedProcess(NamedTuple):
    """What one process recorded: the start and end of each step in s, its items, phases in s, and logged values."""

    host: str
    rank: Optional[int]
    ranks: Optional[int]  # of the launcher
    epoch_s: float  # of the clock of the steps
    starts: "array[float]"
    ends: "array[float]"
    items: "array[float]"
    phases: Dict[str, Series]
    logs: Dict[str, Series]

    @property
    def begin_s(self) -> float:
        """Return the start of the first step, in s since the epoch."""
        return self.epoch_s + self.starts[0]

    @property
    def end_s(self) -> float:
        """Return the end of the last step, in s since the epoch."""
        return self.epoch_s + self.ends[-1]


def read_all(scratch: str) -> Tuple[List[ProbedProcess], List[str]]:
    """Return the processes that used the probe, by rank, and a message for each invalid file."""
    folder = os.path.join(scratch, FOLDER, _IN_RUN)
    found: List[ProbedProcess] = []
    rejected: List[str] = []
    for name in sorted(_names(folder)):
        try:
            found.append(_read(os.path.join(folder, name)))
        except Exception as error:  # invalid content must not fail a completed run
            reason = str(error) or type(error).__name__
            rejected.append("probe file '%s' cannot be read: %s" % (name, reason.splitlines()[0]))
    return sorted(found, key=lambda process: (process.rank is None, process.rank or 0, process.host)), rejected


def _names(folder: str) -> List[str]:
    try:
        return [name for name in os.listdir(folder) if name.endswith(_SUFFIX)]
    except OSError:
        return []


def _read(path: str) -> ProbedProcess:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, encoding="utf-8") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("not a regular file")
        lines = _documents(file)
        head = next(lines, None)
        if head is None:
            raise ValueError("empty file")
        if head.get("format") != FORMAT:
            what = "its format is %r, not %d; install the same version of hpcbench and hpcbench-probe"
            raise ValueError(what % (head.get("format"), FORMAT))
        decode = _Decoder(head["byteorder"] != sys.byteorder)
        numbers = (_count(head["rank"]), _count(head["ranks"]), float(head["epoch"]))
        process = ProbedProcess(str(head["host"]), *numbers, array("d"), array("d"), array("d"), {}, {})
        for line in lines:
            _add(process, line, decode)
    return process


def _count(value: Any) -> Optional[int]:
    return None if value is None else int(value)


def _documents(file: Any) -> Iterator[Dict[str, Any]]:
    """Yield the lines of a file, without a torn last one."""
    for line in file:
        if line.endswith("\n"):
            yield json.loads(line)


def _add(process: ProbedProcess, line: Dict[str, Any], decode: "_Decoder") -> None:
    if "steps" in line:
        _add_steps(process, decode.floats(line["steps"]))
        return
    kind = "phase" if "phase" in line else "log"
    group = process.phases if kind == "phase" else process.logs
    group.setdefault(str(line[kind]), Series()).extend(decode.integers(line["at"]), decode.floats(line["values"]))


def _add_steps(process: ProbedProcess, numbers: Any) -> None:
    """Add steps from four numbers of each: start, end, items, and the time to get a batch, negative if unknown."""
    if len(numbers) % 4:
        raise ValueError("a line has %d numbers; steps have four each" % len(numbers))
    starts, ends, items, waits = (numbers[place::4] for place in range(4))
    if not all(map(math.isfinite, numbers)) or min(items) < 0 or not all(map(operator.le, starts, ends)):
        raise ValueError("invalid steps")
    waited = [place for place, wait in enumerate(waits) if wait >= 0]
    if waited:
        steps = [len(process.ends) + place for place in waited]
        process.phases.setdefault(DATA, Series()).extend(steps, [waits[place] for place in waited])
    process.starts.extend(starts)
    process.ends.extend(ends)
    process.items.extend(items)


class _Decoder:
    """Decode the numbers of a file, whose byte order may be `swapped`."""

    def __init__(self, swapped: bool) -> None:
        self._swapped = swapped

    def floats(self, text: str) -> Any:
        """Return the 64-bit floating-point numbers of a text, as an array."""
        return self._numbers(array("d"), text)

    def integers(self, text: str) -> Any:
        """Return the 64-bit integers of a text, as an array."""
        return self._numbers(array("q"), text)

    def _numbers(self, numbers: Any, text: str) -> Any:
        numbers.frombytes(binascii.a2b_base64(text))
        if self._swapped:
            numbers.byteswap()
        return numbers
