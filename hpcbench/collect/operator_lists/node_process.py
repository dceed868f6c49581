"""A process of the node code that writes lines to a file, which are read while it runs."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hpcbench.collect.operator_lists.node_command import NodeCommand
from hpcbench.errors import UserError

TIMEOUT_S = 600.0
_POLL_S = 0.1  # between two readings of the file
_LAST_BYTES = 65536  # of the output, which contain its last line
_LAST_CHARACTERS = 300  # of this line, in a reason
_OUTPUT, _ERRORS = "stdout.txt", "stderr.txt"


@contextmanager
def started(command: NodeCommand, folder: Path, scratch: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Yield the process of a command in a folder, and end it at the end. `scratch` is the folder of its output.

    Raise UserError if it cannot be started.
    """
    with (scratch / _OUTPUT).open("wb") as output, (scratch / _ERRORS).open("wb") as errors:
        try:
            process = subprocess.Popen(
                command.words,
                env=dict(command.variables),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
            )
        except OSError as error:
            where = str(command.words[0])
            raise UserError(f"the Python of the environment cannot be started: {error}", where=where) from error
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def lines_of(file: Path, process: subprocess.Popen[bytes]) -> Iterator[bytes]:
    """Yield the whole lines of a file as they are written, until the process has ended, or for TIMEOUT_S."""
    end_s = time.monotonic() + TIMEOUT_S
    place = 0
    while True:
        is_last = process.poll() is not None or time.monotonic() > end_s  # before the file is read
        data = _after(file, place)
        whole = data[: data.rfind(b"\n") + 1]
        place += len(whole)
        yield from whole.splitlines()
        if is_last:
            return
        with suppress(subprocess.TimeoutExpired):
            process.wait(_POLL_S)


def failure(process: subprocess.Popen[bytes], scratch: Path) -> str:
    """Return why a process failed after its lines were read; an empty text if it did not."""
    status = process.poll()
    if status is None:
        return f"its operators were not listed within {TIMEOUT_S:.0f} s"
    if status == 0:
        return ""
    lines = (_end_of(scratch / _ERRORS) or _end_of(scratch / _OUTPUT)).decode(errors="replace").strip().splitlines()
    said = lines[-1][-_LAST_CHARACTERS:] if lines else "it printed nothing"
    return f"the node code ended with status {status}: {said}"


def _after(file: Path, place: int) -> bytes:
    """Return what a file contains after so many bytes; nothing if it does not exist yet."""
    try:
        with file.open("rb") as opened:
            opened.seek(place)
            return opened.read()
    except FileNotFoundError:
        return b""


def _end_of(file: Path) -> bytes:
    return _after(file, max(0, file.stat().st_size - _LAST_BYTES))
