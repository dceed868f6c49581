"""Remove a sweep: rename its folders to hidden ones, which no command reads, then delete these."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hpcbench.errors import UserError
from hpcbench.store.workspace import SweepPaths, Workspace

SUFFIX = ".removed"


def hide(paths: SweepPaths) -> None:
    """Rename the folders of a sweep, so that no command finds it. Delete them afterwards with `delete_hidden`.

    The sweep must be locked. jobs/SWEEP goes first: without it, there is no sweep. Raise UserError if another process
    has removed the sweep, or if a folder cannot be renamed.
    """
    hidden = _hidden(paths.jobs)
    try:
        paths.jobs.rename(hidden)
    except FileNotFoundError as error:
        raise UserError("another process has deleted the sweep", where=paths.name) from error
    except OSError as error:
        raise UserError(f"cannot be deleted: {error.strerror}", where=str(paths.jobs)) from error
    try:
        paths.results.rename(_hidden(paths.results))
    except FileNotFoundError:  # no run has started yet
        pass
    except OSError as error:
        hidden.rename(paths.jobs)
        raise UserError(f"cannot be deleted: {error.strerror}", where=str(paths.results)) from error


def discard(paths: SweepPaths) -> None:
    """Delete what exists of the folders of a sweep, which no longer counts as one. What cannot be deleted stays hidden.

    jobs/SWEEP is hidden first, so that an interrupted call leaves no sweep without records.
    """
    for folder in (paths.jobs, paths.results):
        with suppress(FileNotFoundError):
            folder.rename(_hidden(folder))
    with suppress(UserError):  # the next `rm` names the folder
        delete_hidden(Workspace(paths.jobs.parents[1]))


def delete_hidden(workspace: Workspace) -> None:
    """Delete all hidden folders of this user's sweeps, also of an interrupted removal. Links are not followed.

    Raise UserError if a folder cannot be deleted completely, e.g. because it has files of another user.
    """
    for folder in list(_all_hidden(workspace)):
        with suppress(FileNotFoundError):  # another process deletes it, too
            _delete(folder)


def _hidden(folder: Path) -> Path:
    """Return a new name in the same folder: an earlier removal of a sweep of this name may have left its own."""
    return folder.with_name(f".{folder.name}.{os.getpid()}{SUFFIX}")


def _all_hidden(workspace: Workspace) -> Iterator[Path]:
    for kind in ("jobs", "results"):
        for folder in (workspace.root / kind).glob(f".*{SUFFIX}"):
            status = folder.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
                yield folder


def _delete(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        what = f"cannot be deleted completely: {error.filename or folder}: {error.strerror}"
        raise UserError(what, where=str(folder), hint="delete the rest by hand") from error
