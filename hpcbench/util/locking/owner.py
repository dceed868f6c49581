"""The holder of a lock: a process with a name for messages, which can be found on its own machine."""

from __future__ import annotations

import datetime
import json
import os
import pwd
import secrets
import socket
import sys
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, NamedTuple

import click
from pydantic import AfterValidator, Field, TypeAdapter, ValidationError


def _printable(text: str) -> str:
    """Return at most 100 printable characters: an escape sequence of another user must not reach a terminal."""
    return "".join(letter for letter in text if letter.isprintable())[:100]


_Shown = Annotated[str, AfterValidator(_printable)]


@dataclass(frozen=True)
class Holder:
    """A process that holds a lock. An unknown field is empty."""

    token: str = ""  # unique each time that a lock is taken
    machine: str = ""  # see _machine
    host: _Shown = ""
    pid: Annotated[int, Field(ge=0, lt=2**31)] = 0
    started: int = 0  # see _Status
    user: _Shown = ""
    since: str = ""
    command: _Shown = ""

    @property
    def is_here(self) -> bool:
        """Return whether the process is one of those that this process can see."""
        return self.machine != "" and self.machine == _machine()

    @property
    def lives(self) -> bool | None:
        """Return whether the process exists, running or stopped, or None if this machine cannot find out."""
        if not self.is_here or self.pid <= 0:
            return None
        try:
            os.kill(self.pid, 0)  # signal 0 only checks; /proc may hide the processes of other users
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        status = _status(self.pid)
        if status is None or not self.started:
            return None
        return status.started == self.started and status.state not in "ZX"

    @property
    def is_stopped(self) -> bool:
        """Return whether the process exists and is stopped, for example by Ctrl-Z."""
        status = _status(self.pid) if self.lives else None
        return status is not None and status.state in "Tt"

    @property
    def place(self) -> str:
        """Return the process id and the host, for a message."""
        return f"process {self.pid} on {self.host or 'a machine without a name'}"

    @property
    def begun(self) -> str:
        """Return the time of day when the process took the lock, with the date if that was not today."""
        try:
            since = datetime.datetime.fromisoformat(self.since).astimezone()
        except ValueError:
            return "an unknown time"
        today = since.date() == datetime.datetime.now().date()
        return f"{since:%H:%M}" if today else f"{since:%Y-%m-%d %H:%M}"

    def as_text(self) -> str:
        """Return the holder as a line of JSON, which `parse` reads."""
        return json.dumps(asdict(self)) + "\n"


class _Status(NamedTuple):
    state: str  # one letter
    started: int  # ticks after boot: distinguishes a process from a later one with the same id


_PARSER = TypeAdapter(Holder)


def parse(text: str) -> Holder:
    """Return the holder that a file names. Return an empty holder if the file is cut off or damaged."""
    try:
        return _PARSER.validate_json(text)
    except ValidationError:
        return Holder()


def this_process() -> Holder:
    """Return this process as the holder of a lock that it takes now."""
    status = _status(os.getpid())
    context = click.get_current_context(silent=True)
    return Holder(
        token=secrets.token_hex(8),
        machine=_machine(),
        host=socket.gethostname(),
        pid=os.getpid(),
        started=status.started if status else 0,
        user=_user(),
        since=datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        command=context.command_path if context else Path(sys.argv[0]).name,
    )


@cache
def _machine() -> str:
    """Return an id that is unique to one boot of one machine, and to one container with its own process ids.

    A host name is not enough: many containers and small clusters are called `localhost`.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return ""


def _status(pid: int) -> _Status | None:
    """Return the state of a process from /proc/PID/stat, proc(5), or None if it is hidden or gone.

    The second field may contain any character.
    """
    try:
        after_name = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return _Status(after_name[0], int(after_name[19]))


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"
