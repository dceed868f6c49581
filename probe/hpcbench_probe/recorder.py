"""The times of the steps of one process, in memory and in a file of JSON lines in the folder of the run.

A file begins with a line about the process. Each further line has numbers of one series, as base64 of 64-bit values in
the byte order of the process:

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
from bisect import bisect_left
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

FORMAT = 1
FOLDER = ".hpcbench_probe"  # in the folder of the run
FLUSH_S = 5.0  # longest time between two writes of short steps
MANY = 32_768  # steps in memory that cause an earlier write
DATA = "data"  # the phase in which a callback waits for a batch; hpcbench gives the wait of loops the same name
# Variables with the rank and the number of ranks, set by torchrun, Open MPI, MVAPICH, PMIx, MPICH and Intel MPI, PALS,
# Flux, hpcbench and Slurm.
_RANKS = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("PMIX_RANK", "PMIX_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("PALS_RANKID", "PALS_SIZE"),
    ("FLUX_TASK_RANK", "FLUX_JOB_SIZE"),
    ("HPCBENCH_RANK", "HPCBENCH_RANKS"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
)


class _Series(NamedTuple):
    """Numbers of one name, with the step of each."""

    at: "array[int]"
    values: "array[float]"


class Recorder:
    """Record the steps of this process for the run whose folder is `run`."""

    def __init__(self, run: str) -> None:
        self._folder = os.path.join(run, FOLDER)
        self._file: Optional[Any] = None
        self._size = 0  # of the whole lines in the file
        self._unwritten = b""  # after an error
        self._steps: List[float] = []  # four numbers of each step that is not yet in the file
        self._written = 0  # steps before them
        self._phases: Dict[str, _Series] = {}
        self._logs: Dict[str, _Series] = {}
        self._flush_at = 0.0  # the first step opens the file
        self._stopped = False

    def add(self, start: float, end: float, items: float, waited: float = -1.0) -> float:
        """Add a completed step. Return the start of the next: `end`, or later if this call wrote to the file."""
        # After a step of some milliseconds, this code is no longer in the CPU caches: one list, few calls.
        steps = self._steps
        steps += (start, end, items, waited)
        return end if end < self._flush_at and len(steps) < 4 * MANY else self.flush()

    def phase(self, name: str, seconds: float) -> None:
        """Add the time of a phase to the step that has not ended yet."""
        self._add(self._phases, name, seconds)

    def log(self, name: str, value: float) -> None:
        """Add a value after the steps that have ended."""
        self._add(self._logs, name, value)

    def discard(self) -> None:
        """Remove the phases of the step that has not ended."""
        done = self._done()
        for series in self._phases.values():
            while series.at and series.at[-1] == done:
                series.at.pop()
                series.values.pop()

    def close(self, was_used: bool) -> None:
        """Write what is in memory. If the probe was used without completing a step, create a file nevertheless."""
        self.flush()
        if was_used and self._file is None:
            self._write(b"")

    def flush(self) -> float:
        """Append what is in memory to the file, and return the time. After an error, the next call tries again."""
        taken = self._taken()
        if (taken or self._unwritten) and not self._stopped:
            self._write(b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in taken))
        now = time.monotonic()
        self._flush_at = now + FLUSH_S
        return now

    def stop(self) -> None:
        """Stop writing: a forked child process has a copy of the recorder of its parent."""
        self._stopped = True

    def _done(self) -> int:
        """Return the steps that have ended."""
        return self._written + len(self._steps) // 4

    def _add(self, group: Dict[str, _Series], name: str, value: float) -> None:
        series = group.get(name)
        if series is None:
            series = group[name] = _Series(array("q"), array("d"))
        series.at.append(self._done())
        series.values.append(value)

    def _taken(self) -> List[Dict[str, Any]]:
        """Return what is in memory as lines of the file, and remove it from memory."""
        lines: List[Dict[str, Any]] = []
        if self._steps:
            lines.append({"steps": _encoded(array("d", self._steps))})
        done = self._done()
        for kind, group, end in (("phase", self._phases, done), ("log", self._logs, done + 1)):
            for name, series in group.items():
                count = bisect_left(series.at, end)  # phases of the current step stay, because it may be discarded
                if count:
                    at, values = series.at[:count], series.values[:count]
                    lines.append({kind: name, "at": _encoded(at), "values": _encoded(values)})
                    del series.at[:count], series.values[:count]
        self._written = done
        self._steps.clear()
        return lines

    def _write(self, lines: bytes) -> None:
        """Write whole lines. On an error, such as a full disk, print a warning: the training must continue."""
        had_failed, self._unwritten = bool(self._unwritten), self._unwritten + lines
        try:
            if self._file is None:
                self._file = self._opened()
                self._unwritten = json.dumps(_process()).encode() + b"\n" + self._unwritten
            written = self._file.write(self._unwritten)
            if written < len(self._unwritten):
                raise OSError("only %d of %d bytes were written" % (written, len(self._unwritten)))
            self._size, self._unwritten = self._size + written, b""
        except OSError as error:
            if not had_failed:
                print("hpcbench_probe: warning: steps not recorded: %s" % error, file=sys.stderr)
            self._remove_torn_line()

    def _remove_torn_line(self) -> None:
        if self._file is None:
            return
        try:
            self._file.truncate(self._size)
            self._file.seek(self._size)
        except OSError:  # the reader skips an incomplete last line
            return

    def _opened(self) -> Any:
        os.makedirs(self._folder, exist_ok=True)
        multiprocessing: Any = sys.modules.get("multiprocessing.util")
        if multiprocessing is not None:  # its child processes skip atexit functions
            multiprocessing.Finalize(None, self.flush, exitpriority=0)
        # Process IDs are not unique on a node: containers have their own.
        name = "%s-%d-%x.jsonl" % (_host(), os.getpid(), time.monotonic_ns())
        return open(os.path.join(self._folder, name), "xb", buffering=0)


def _encoded(numbers: Any) -> str:
    return b2a_base64(numbers.tobytes(), newline=False).decode("ascii")


def _host() -> str:
    """Return Slurm's name of the node, otherwise its host name: one machine may be several nodes of Slurm."""
    return os.environ.get("SLURMD_NODENAME") or os.uname().nodename


def _rank() -> Tuple[Optional[int], Optional[int]]:
    """Return the rank of this process and the number of ranks, by the first launcher that has set them."""
    for rank, size in _RANKS:
        if os.environ.get(rank, "").isdigit():
            count = os.environ.get(size, "")
            return int(os.environ[rank]), int(count) if count.isdigit() else None
    return None, None


def _process() -> Dict[str, Any]:
    rank, ranks = _rank()
    return {
        "format": FORMAT,
        "host": _host(),
        "rank": rank,
        "ranks": ranks,
        "epoch": time.time() - time.monotonic(),  # epoch time at 0 of the monotonic clock, to compare nodes
        "byteorder": sys.byteorder,
        "python": platform.python_version(),
    }
