"""Run pip and its child processes, with output in a log file, and explain failures."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hpcbench.errors import UserError

LAST_LINES = 15
STOP_GRACE_S = 10.0
# Settings of the user that would install packages outside the environment, or import them from outside.
_FOREIGN = ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIRE_VIRTUALENV", "VIRTUAL_ENV")
_OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")  # set by a make that started hpcbench
_OWN = {"PIP_USER": "0", "PYTHONNOUSERSITE": "1", "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

_NO_NETWORK = (
    "Name or service not known",
    "Temporary failure in name resolution",
    "Failed to resolve",
    "Network is unreachable",
    "NewConnectionError",
    "ConnectTimeoutError",
    "Connection refused",
    "ProxyError",
    "No route to host",
)
_NO_MATCH = re.compile(r"No matching distribution found for (.+)")
_CAUSES: tuple[tuple[str, str, str], ...] = (
    (
        r"No space left on device|Disk quota exceeded|\[Errno (?:28|122)\]",
        "the disk is full",
        "free space, or set HPCBENCH_ENVS (environments) or TMPDIR (temporary files) to another directory",
    ),
    (
        "|".join(_NO_NETWORK),
        "no package index can be reached",
        "build on a machine with network access, e.g. a login node, or set PIP_INDEX_URL to your mirror",
    ),
    (
        r"Killed signal terminated program|virtual memory exhausted|Cannot allocate memory",
        "the compiler ran out of memory",
        "build on a machine with more memory, or compile one file at a time: MAKEFLAGS=-j1",
    ),
)


class ProgramError(UserError):
    """A program of a build that failed, with its last output."""

    def __init__(self, what: str, log: Path, hint: str, lines: list[str], output: str) -> None:
        super().__init__(what, where=str(log), hint=hint)
        self.lines = lines
        self.output = output

    @property
    def lacks_a_package(self) -> bool:
        """Return whether pip found no matching version of a package."""
        return bool(_NO_MATCH.search(self.output))


@dataclass(frozen=True)
class Programs:
    """Run the programs of one build, with output appended to `log`."""

    log: Path
    lock: int  # inherited file descriptor: a program that outlives hpcbench still locks the environment

    def run(self, command: Sequence[str | Path], variables: Mapping[str, str], what: str) -> None:
        """Run a program to its end; stop it on Ctrl-C. Raise ProgramError, `WHAT failed: REASON`, if it fails."""
        words = [str(word) for word in command]
        with self.log.open("ab") as output:
            start = output.tell()
            output.write(f"$ {shlex.join(words)}\n".encode())
            output.flush()
            program = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=clean_variables(variables),
                pass_fds=(self.lock,),
                start_new_session=True,  # a process group, to stop it with its child processes
            )
            try:
                status = program.wait()
            except BaseException:
                _stop(program)
                raise
        if status:
            raise self._error(what, status, start)

    def _error(self, what: str, status: int, start: int) -> ProgramError:
        with self.log.open("rb") as file:
            file.seek(start)
            output = file.read().decode("utf-8", "replace")
        cause, hint = _cause(output)
        lines = [line for line in output.splitlines() if line.strip()][-LAST_LINES:]
        return ProgramError(f"{what} failed: {cause or f'exit status {status}'}", self.log, hint, lines, output)


def clean_variables(added: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of this process, without those that interfere with pip or make, updated by `added`."""
    foreign = (*_FOREIGN, *_OF_MAKE) if "MAKELEVEL" in os.environ else _FOREIGN
    kept = {name: value for name, value in os.environ.items() if name not in foreign}
    return {**kept, **_OWN, **added}


def _cause(output: str) -> tuple[str, str]:
    """Return the cause of a failure and a hint, by the output of the program; empty if unknown."""
    for pattern, cause, hint in _CAUSES:
        if re.search(pattern, output):
            return cause, hint
    missing = _NO_MATCH.search(output)
    if missing:
        return (
            f"pip finds no {missing.group(1).strip()} for this Python and machine",
            "try another Python (--python), or write a recipe with other versions or another index",
        )
    return "", ""


def _stop(program: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            program.wait(timeout=STOP_GRACE_S)
            return
