"""Read the files in which hpcbench_probe recorded the steps of the processes of a command.

The package hpcbench_probe describes the format. A process that was killed may have left a torn last line, and any
program can write to the folder: other lines than those of the format raise ValueError.
"""

import binascii
import json
import os
import sys
from array import array
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from ...core.metrics.logged import Values
from ..launch.rank_files import FOLDER

FORMAT = 1
_IN_RUN = "probe"  # folder in that of the run
_SUFFIX = ".jsonl"
DATA = "data"  # the phase of waiting for a batch


class ProbedProcess(NamedTuple):
    """What one process recorded: the start and end of each step in s, its items, phases in s, and logged values."""

    host: str
    rank: Optional[int]
    starts: List[float]
    ends: List[float]
    items: List[int]
    phases: Dict[str, Values]
    logs: Dict[str, Values]


def read_all(scratch: str) -> Tuple[List[ProbedProcess], List[str]]:
    """Return the processes with steps, in the order of their ranks, and a message for each file that is not valid."""
    folder = os.path.join(scratch, FOLDER, _IN_RUN)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    found: List[ProbedProcess] = []
    refused: List[str] = []
    for name in names:
        if not name.endswith(_SUFFIX):
            continue
        try:
            found.append(_read(os.path.join(folder, name)))
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            refused.append("probe file '%s' cannot be read: %s" % (name, error))
    with_steps = [process for process in found if process.ends]
    return sorted(with_steps, key=lambda process: (process.rank is None, process.rank or 0, process.host)), refused


def _read(path: str) -> ProbedProcess:
    with open(path, encoding="utf-8") as file:
        lines = _documents(file)
        head = next(lines, None)
        if head is None:
            raise ValueError("it is empty")
        if head.get("format") != FORMAT:
            what = "its format is %r, not %d; install the same version of hpcbench and hpcbench-probe"
            raise ValueError(what % (head.get("format"), FORMAT))
        decode = _Decoder(head["byteorder"] != sys.byteorder)
        rank = None if head["rank"] is None else int(head["rank"])
        process = ProbedProcess(str(head["host"]), rank, [], [], [], {}, {})
        for line in lines:
            _add(process, line, decode)
    return process


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
    values = zip(decode.integers(line["at"]), decode.floats(line["values"]))
    group.setdefault(str(line[kind]), []).extend(values)


def _add_steps(process: ProbedProcess, numbers: List[float]) -> None:
    """Add steps from four numbers of each: start, end, items, and the time to get a batch, negative if unknown."""
    if len(numbers) % 4:
        raise ValueError("steps have four numbers each, and not %d" % len(numbers))
    waits = [(len(process.ends) + place, waited) for place, waited in enumerate(numbers[3::4]) if waited >= 0]
    if waits:
        process.phases.setdefault(DATA, []).extend(waits)
    process.starts.extend(numbers[::4])
    process.ends.extend(numbers[1::4])
    process.items.extend(map(int, numbers[2::4]))


class _Decoder:
    """Decode the numbers of a file, whose byte order may be `swapped`."""

    def __init__(self, swapped: bool) -> None:
        self._swapped = swapped

    def floats(self, text: str) -> List[float]:
        return list(self._numbers(array("d"), text))

    def integers(self, text: str) -> List[int]:
        return list(self._numbers(array("q"), text))

    def _numbers(self, numbers: Any, text: str) -> Any:
        numbers.frombytes(binascii.a2b_base64(text))
        if self._swapped:
            numbers.byteswap()
        return numbers
