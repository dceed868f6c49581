"""The times of the steps of one process, in memory and in a file of JSON lines in the folder of the run.

A file begins with a line about the process. Each further line has a part of one series, with its numbers as base64 of
64-bit values in the byte order of the process:

- `{"steps": NUMBERS}`: four numbers for each step: its start and end in seconds of CLOCK_MONOTONIC, its items, 0 if
  unknown, and the seconds that a loop waited for its batch, -1 without a loop.
- `{"phase": NAME, "at": STEPS, "values": NUMBERS}`: seconds in a phase, and the steps, counted from 0.
- `{"log": NAME, "at": STEPS, "values": NUMBERS}`: logged values, and the number of completed steps at each.
"""

import json
import os
import platform
import sys
import time
from array import array
from binascii import b2a_base64
from typing import Any, Dict, List, NamedTuple, Optional

FORMAT = 1
FOLDER = "probe"  # in the folder of the run
FLUSH_S = 5.0  # steps that a killed process loses, at most
DATA = "data"  # the phase in which a callback waits for a batch; hpcbench gives the wait of loops the same name
# Set by torchrun, Slurm, Open MPI, MPICH and Intel MPI, and hpcbench.
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "HPCBENCH_RANK", "SLURM_PROCID")


class _Series(NamedTuple):
    """Numbers of one name, with the step of each."""

    at: "array[int]"
    values: "array[float]"


class Recorder:
    """Record the steps of this process for the run whose folder is `run`."""

    def __init__(self, run: str) -> None:
        self._folder = os.path.join(run, FOLDER)
        self._file: Optional[Any] = None
        self._steps = array("d")  # that are not yet in the file
        self._append = self._steps.append
        self._done = 0  # steps of this process
        self._phases: Dict[str, _Series] = {}
        self._logs: Dict[str, _Series] = {}
        self._flush_at = 0.0  # the first step opens the file

    def add(self, start: float, end: float, items: float, waited: float = -1.0) -> float:
        """Add a step that has ended; return when the next can begin: later than `end` if this wrote to the file."""
        append = self._append
        append(start)
        append(end)
        append(items)
        append(waited)
        self._done += 1
        return end if end < self._flush_at else self.flush()

    def phase(self, name: str, seconds: float) -> None:
        """Add the time of a phase to the step that has not ended yet."""
        self._add(self._phases, name, seconds)

    def log(self, name: str, value: float) -> None:
        """Add a value after the steps that have ended."""
        self._add(self._logs, name, value)

    def _add(self, group: Dict[str, "_Series"], name: str, value: float) -> None:
        series = group.get(name)
        if series is None:
            series = group[name] = _Series(array("q"), array("d"))
        series.at.append(self._done)
        series.values.append(value)

    def flush(self) -> float:
        """Append what is in memory to the file, and return the time. On a full disk, steps are lost with a message."""
        self._write(self._taken())
        now = time.monotonic()
        self._flush_at = now + FLUSH_S
        return now

    def _taken(self) -> List[Dict[str, Any]]:
        """Return what is in memory as lines of the file, and forget it."""
        lines = []
        if self._steps:
            lines.append({"steps": _encoded(self._steps)})
        for kind, group in (("phase", self._phases), ("log", self._logs)):
            for name, series in group.items():
                if series.at:
                    lines.append({kind: name, "at": _encoded(series.at), "values": _encoded(series.values)})
                    del series.at[:], series.values[:]
        del self._steps[:]
        return lines

    def _write(self, lines: List[Dict[str, Any]]) -> None:
        if not lines:
            return
        try:
            if self._file is None:
                self._file = self._opened()
                lines.insert(0, _process())
            self._file.write("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
            self._file.flush()
        except OSError as error:
            print("hpcbench_probe: warning: steps not recorded: %s" % error, file=sys.stderr)

    def _opened(self) -> Any:
        os.makedirs(self._folder, exist_ok=True)
        multiprocessing: Any = sys.modules.get("multiprocessing.util")
        if multiprocessing is not None:  # its processes leave without atexit
            multiprocessing.Finalize(None, self.flush, exitpriority=0)
        # Process IDs are not unique on a node: containers have their own.
        name = "%s-%d-%x.jsonl" % (_host(), os.getpid(), time.monotonic_ns())
        return open(os.path.join(self._folder, name), "x", encoding="utf-8")


def _encoded(numbers: Any) -> str:
    return b2a_base64(numbers.tobytes(), newline=False).decode("ascii")


def _host() -> str:
    """Return Slurm's name of the node, otherwise its host name: one machine may be several nodes of Slurm."""
    return os.environ.get("SLURMD_NODENAME") or os.uname().nodename


def _process() -> Dict[str, Any]:
    ranks = (os.environ.get(name, "") for name in _RANKS)
    return {
        "format": FORMAT,
        "host": _host(),
        "rank": next((int(rank) for rank in ranks if rank.isdigit()), None),
        "byteorder": sys.byteorder,
        "python": platform.python_version(),
    }
