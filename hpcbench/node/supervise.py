"""Beside each worker stands its supervisor, which outlives it and tells how it ended.

A worker that is killed cannot write why. The supervisor passes its output on, keeps the last lines, and leaves one
file per rank, which record.py makes the record of.
"""

import collections
import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from typing import IO, Any, Deque, Dict, List, Optional

from . import hardware, provenance, variables
from .outcomes import LAST_LINES
from .planned import PlannedRun
from .ranks import Ranks

LINE_LENGTH = 500
TERMINATE_GRACE_S = 2.0
DRAIN_S = 2.0  # for what is left in a pipe after its writer has ended


def supervise(planned: PlannedRun, ranks: Ranks, command: List[str], scratch: str) -> int:
    """Run one rank's worker, `command`, to its end; return an exit status for srun."""
    cpus = os.environ.get("HPCBENCH_CPUS")
    if cpus:  # set by the local launcher; under Slurm, srun binds
        os.sched_setaffinity(0, [int(cpu) for cpu in cpus.split(",")])
    oom_kills = hardware.oom_kills()
    started = time.time()
    ending = _run_worker(command, variables.for_worker(planned.parameters, os.environ))
    ending["rank"] = ranks.rank
    ending["started_at"], ending["ended_at"] = started, time.time()
    ending["node"] = hardware.describe()
    ending["oom_kills"] = _difference(hardware.oom_kills(), oom_kills)
    _write(ending, os.path.join(scratch, "rank-%d.json" % ranks.rank))
    return int(ending["exit_status"])


def _run_worker(command: List[str], environment: Dict[str, str]) -> Dict[str, Any]:
    read_end, write_end = os.pipe()
    worker = subprocess.Popen(
        command + ["--result-fd", str(write_end)],
        env=environment,
        stderr=subprocess.PIPE,
        pass_fds=(write_end,),
    )
    os.close(write_end)
    stopped: List[int] = []

    def stop(number: int, frame: Any) -> None:
        if not stopped:
            stopped.append(number)
            worker.terminate()
            killer = threading.Timer(TERMINATE_GRACE_S, worker.kill)
            killer.daemon = True
            killer.start()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    last_lines: Deque[str] = collections.deque(maxlen=LAST_LINES)
    result = _Reader(os.fdopen(read_end, "rb"))
    assert worker.stderr is not None  # noqa: S101 - it was asked for
    echo = threading.Thread(target=_echo, args=(worker.stderr, last_lines), daemon=True)
    echo.start()
    returned = worker.wait()
    echo.join(timeout=DRAIN_S)  # a child of the worker may hold the pipe open
    return {
        "exit_status": returned if returned >= 0 else 128 - returned,  # as a shell would say it
        "exit_code": returned if returned >= 0 else None,
        "signal": _signal_name(-returned) if returned < 0 else None,
        "stopped_by": signal.Signals(stopped[0]).name if stopped else None,
        "last_lines": list(last_lines),
        "facts": result.parsed(),
    }


class _Reader(threading.Thread):
    """Reads the worker's result while it runs, so that a full pipe cannot stop it."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._parts: List[bytes] = []
        self.start()

    def run(self) -> None:
        for part in iter(lambda: os.read(self._pipe.fileno(), 65536), b""):
            self._parts.append(part)

    def parsed(self) -> Optional[Dict[str, Any]]:
        """The result, or None where the worker died before it had one."""
        self.join(timeout=DRAIN_S)
        try:
            facts: Dict[str, Any] = json.loads(b"".join(self._parts))
        except ValueError:
            return None
        return facts


def _echo(pipe: IO[bytes], last_lines: Deque[str]) -> None:
    for line in pipe:
        text = provenance.redacted(line.decode("utf-8", "replace").rstrip("\n"), os.environ)
        last_lines.append(text[:LINE_LENGTH])  # cut after redacting: half a secret is not recognised
        with contextlib.suppress(OSError):  # a full disk, or no one listens: read on, or the worker waits for ever
            os.write(2, line)


def _signal_name(number: int) -> str:
    """Python names only the first and the last real-time signal."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return "SIG%d" % number


def _difference(after: Optional[int], before: Optional[int]) -> Optional[int]:
    return None if after is None or before is None else after - before


def _write(ending: Dict[str, Any], path: str) -> None:
    """Whole or not at all: the file appears under its name only when it is complete."""
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(ending, file, separators=(",", ":"))
    os.replace(path + ".part", path)
