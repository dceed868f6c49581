"""Write a sweep as one file, SWEEP.tar.gz. The same files give the same bytes."""

from __future__ import annotations

import gzip
import os
import shlex
import stat
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hpcbench.errors import UserError
from hpcbench.store.workspace import SweepPaths

SUFFIX = ".tar.gz"
LEVEL = 6
RUNNING = "running"  # in results/SWEEP: temporary files of active runs

Report = Callable[[int, int], None]  # files written, files in total


@dataclass(frozen=True)
class Entry:
    """A file or folder of a sweep, and its name in the archive."""

    path: Path
    name: str
    is_folder: bool


@dataclass(frozen=True)
class Written:
    """An archive that was written."""

    file: Path
    files: int
    size_bytes: int
    left_out: tuple[str, ...]  # links and special files


def write(paths: SweepPaths, file: Path, report: Report, *, replace: bool = False) -> Written:
    """Write a sweep to an archive: under a temporary name, then rename it.

    Call `report` with the number of files written and the total. Raise UserError if `file` exists, unless with
    `replace`, if its folder does not exist, or if a file of the sweep shrinks meanwhile.
    """
    _check(file, replace)
    entries, left_out = _entries(paths)
    files = sum(not entry.is_folder for entry in entries)
    handle, unfinished = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as raw:
            _pack(entries, raw, lambda done: report(done, files))
            raw.flush()
            os.fsync(raw.fileno())
            size_bytes = raw.tell()
        if replace:
            Path(unfinished).rename(file)
        else:
            _name(Path(unfinished), file)
    finally:
        Path(unfinished).unlink(missing_ok=True)
    return Written(file, files, size_bytes, tuple(left_out))


def _name(unfinished: Path, file: Path) -> None:
    """Rename the archive without replacing a file that another process may have created meanwhile."""
    try:
        try:
            os.link(unfinished, file)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links: create an empty file, then replace it
            file.touch(0o600, exist_ok=False)
            unfinished.rename(file)
    except FileExistsError as error:
        raise _exists(file) from error


def _exists(file: Path) -> UserError:
    return UserError(f"'{file}' already exists", hint="choose another file: -o FILE")


def _check(file: Path, replace: bool) -> None:
    if file.is_dir():
        raise UserError(f"'{file}' is a directory", hint="name a file: -o FILE")
    if not replace and (file.exists() or file.is_symlink()):
        raise _exists(file)
    if not file.parent.is_dir():
        raise UserError(
            f"directory '{file.parent}' not found", hint=f"create it: mkdir -p {shlex.quote(str(file.parent))}"
        )


def _entries(paths: SweepPaths) -> tuple[list[Entry], list[str]]:
    """Return the entries in a fixed order, and the names of links and special files, which are not archived."""
    entries: list[Entry] = []
    left_out: list[str] = []
    for kind, top in (("jobs", paths.jobs), ("results", paths.results)):
        for path, mode in _walk(top, skipped=top / RUNNING):
            name = str(Path(kind, paths.name, path.relative_to(top)))
            if stat.S_ISDIR(mode) or stat.S_ISREG(mode):
                entries.append(Entry(path, name, stat.S_ISDIR(mode)))
            else:
                left_out.append(name)
    return entries, left_out


def _walk(top: Path, skipped: Path) -> Iterator[tuple[Path, int]]:
    """Yield a folder and all below it, with modes. Do not follow links; skip locks and unfinished files."""
    if not top.is_dir():
        return
    yield top, top.stat().st_mode
    waiting = [top]
    while waiting:
        folder = waiting.pop()
        with os.scandir(folder) as found:
            inside = sorted((entry.name, entry.stat(follow_symlinks=False).st_mode) for entry in found)
        for name, mode in inside:
            path = folder / name
            if name.startswith(".") or name.endswith(".part") or path == skipped:
                continue
            yield path, mode
            if stat.S_ISDIR(mode):
                waiting.append(path)


def _pack(entries: list[Entry], raw: IO[bytes], report: Callable[[int], None]) -> None:
    done = 0
    # The header of gzip has no name and no time.
    with (
        gzip.GzipFile("", "wb", LEVEL, raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for entry in entries:
            if entry.is_folder:
                tar.addfile(_header(entry, entry.path.stat(), 0))
                continue
            _add_file(tar, entry)
            done += 1
            report(done)


def _add_file(tar: tarfile.TarFile, entry: Entry) -> None:
    """Add a file with its current size. Lines appended meanwhile are left out. Raise UserError if the file shrinks."""
    try:
        handle = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:  # a job that has just ended removed it
        return
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return
        try:
            tar.addfile(_header(entry, status, status.st_size), file)
        except OSError as error:
            if error.errno is not None:
                raise
            what = "the file became shorter while it was read"
            raise UserError(what, where=str(entry.path), hint="try again") from error


def _header(entry: Entry, status: os.stat_result, size: int) -> tarfile.TarInfo:
    """Return the header of a file: without owner, and with its time in seconds."""
    header = tarfile.TarInfo(entry.name)
    header.type = tarfile.DIRTYPE if entry.is_folder else tarfile.REGTYPE
    header.mode = 0o755 if entry.is_folder or status.st_mode & stat.S_IXUSR else 0o644
    header.mtime, header.size = int(status.st_mtime), size
    return header
