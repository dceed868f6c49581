"""The temporary files of runs that have no record yet: find them, and decide who may delete them and when."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from hpcbench.status.evidence import ENDED, JobState

Scratch = Mapping[int, Sequence[Path]]  # by element: a folder for each attempt, and the output of a concurrent run


def find_scratch(running: Path) -> Scratch:
    """Return the files of unrecorded attempts in the folder of a batch, by element; none if it does not exist.

    Raise OSError if it cannot be read: the outcome of its runs is unknown then.
    """
    found: dict[int, list[Path]] = {}
    try:
        for path in running.iterdir():
            number = path.name.partition("-")[0]
            if number.isdecimal():
                found.setdefault(int(number), []).append(path)
    except FileNotFoundError:
        return {}
    return found


def latest_change(paths: Iterable[Path]) -> float | None:
    """Return when one of these files, or a file in one of these folders, last changed, in seconds since the epoch."""
    times: list[float] = []
    for path in paths:
        with suppress(FileNotFoundError):
            times.append(path.stat().st_mtime)
            if path.is_dir():
                times += [entry.stat(follow_symlinks=False).st_mtime for entry in os.scandir(path)]
    return max(times, default=None)


def may_delete(job: JobState | None, submitted_by: int, *, is_saved: bool) -> bool:
    """Return whether this process may delete the files of a run.

    Only the user who submitted its job may do that, after there is evidence that the job has ended (evidence.py), and
    after the record that was made from the files is saved. `job` is None for a job on this machine whose driver this
    process has waited for.
    """
    return is_saved and submitted_by == os.getuid() and (job is None or job.kind == ENDED)


def delete(paths: Iterable[Path]) -> None:
    """Remove files and folders. One that is already gone is not an error."""
    for path in paths:
        if path.suffix == ".log":
            path.unlink(missing_ok=True)
        else:
            shutil.rmtree(path, ignore_errors=True)
