"""Whole processes, their wall time and memory, and lines to print: for the benchmarks of hpcbench's own speed."""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

HPCBENCH = str(Path(sys.executable).with_name("hpcbench"))
ROOT = Path(__file__).parents[1]
FIRST = -20
Variables = Mapping[str, str]


class Cost(NamedTuple):
    """What one process took; its memory is never below what this process has taken."""

    seconds: float
    cpu_s: float
    megabytes: float


class FailedError(SystemExit):
    """A command had another exit status than a good one; where nobody catches it, it ends the program."""


def clean_environment() -> dict[str, str]:
    """The variables of this shell, without those that change what Slurm, hpcbench and Python do."""
    dropped = ("SLURM_", "HPCBENCH_", "PYTHON")
    return {name: value for name, value in os.environ.items() if not name.startswith(dropped)}


def timed(command: list[str], folder: Path, environment: Variables, runs: int = 5) -> Cost:
    """Return the median times of a command and its peak memory, after one run that does not count."""
    costs = [once(command, folder, environment) for _ in range(runs + 1)]
    seconds, cpu_s = (statistics.median(times) for times in list(zip(*costs[1:], strict=True))[:2])
    return Cost(seconds, cpu_s, max(cost.megabytes for cost in costs))


def once(command: list[str], folder: Path, environment: Variables, good: tuple[int, ...] = (0,)) -> Cost:
    """What one run took, before all others. Raises FailedError where it has another exit status than a good one."""
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True
        )
        put_first(process.pid)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in good:
            errors.seek(0)
            raise FailedError(f"{' '.join(command)} failed:\n{errors.read().decode()}")
    return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def put_first(pid: int) -> None:
    """Let the session of a process run before others, where we may: no cluster's nodes share cores with its login node.

    The kernel shares time out among sessions first, and then among the processes of each: sched(7), autogroup.
    """
    with contextlib.suppress(PermissionError, FileNotFoundError):  # not root; a kernel without autogroups
        Path(f"/proc/{pid}/autogroup").write_text(f"{FIRST}")


def show(what: str, value: str, note: str = "") -> None:
    print(f"{what:<58} {value:>16}   {note}".rstrip(), flush=True)
