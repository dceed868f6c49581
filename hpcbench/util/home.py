"""Paths below a home directory."""

from __future__ import annotations

from pathlib import Path

from hpcbench.errors import UserError


def expanded(path: str) -> Path:
    """Return a path with `~` expanded. Raise UserError if that home directory is unknown.

    The home directory of the user is unknown if HOME is not set and the UID has no user name on this machine.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise UserError("home directory not found", where=path, hint="set HOME, or write the full path") from error
