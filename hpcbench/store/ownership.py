"""Check who owns the folders of a sweep before hpcbench writes there."""

from __future__ import annotations

import os
import pwd
import stat
from pathlib import Path

from hpcbench.errors import UserError
from hpcbench.store.workspace import SweepPaths

PRIVATE = 0o700


def mode(shared: bool) -> int:
    """Return the mode of a sweep's folders: 0700, or if the sweep is shared, what the umask gives."""
    if not shared:
        return PRIVATE
    umask = os.umask(0)
    os.umask(umask)
    return 0o777 & ~umask


def check(paths: SweepPaths, shared: bool) -> None:
    """Raise UserError unless jobs/SWEEP and results/SWEEP, if they exist, are folders of this user or shared.

    jobs/ and results/ themselves may be links, for example to another file system.
    """
    for folder in (paths.jobs, paths.results):
        if folder.is_symlink() or folder.exists():
            _check(folder, shared)


def _check(folder: Path, shared: bool) -> None:
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        kind = "a link" if stat.S_ISLNK(status.st_mode) else "a file"
        raise UserError(
            f"the path is {kind} of {_user(status.st_uid)}, not the directory of a sweep",
            where=str(folder),
            hint="remove it; jobs/ and results/ as a whole may be links",
        )
    if status.st_uid != os.geteuid() and not shared:
        raise UserError(
            f"the sweep is {_user(status.st_uid)}'s, and you are {_user(os.geteuid())}",
            where=str(folder),
            hint="start your own sweep; others can resume sweeps only with `shared: true` in the experiment",
        )


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
