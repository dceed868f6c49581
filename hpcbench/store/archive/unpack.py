"""Unpack the archive of a sweep into a private folder. The archive may come from anyone.

An archive holds the plain files of one sweep, each once, none of them a link, all below the folder, and is no larger
than the limits below. tarfile's filter "data" checks less, and the Python of Debian 12 does not have it. tarfile also
reads a header of any size into memory, so this module limits what it can read.
"""

from __future__ import annotations

import gzip
import re
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path

from hpcbench.config.names import check_name
from hpcbench.errors import UserError
from hpcbench.store.workspace import SweepPaths, Workspace

MAX_ENTRIES = 1_000_000  # files and folders
MAX_BYTES = 20 * 2**30  # unpacked
MAX_READ = 2 * 2**30  # bytes of these outside the folders UNREAD: a report reads them into memory
UNREAD = frozenset(("logs", "timelines", "output"))
BLOCK = 4096  # bytes that the smallest file, or a folder, takes on a disk
MAX_HEAD = 2**20  # bytes of the headers before the content of a file
MAX_DEPTH, MAX_NAME = 12, 1000
SPARE = 0.1  # fraction of the free disk space that stays free
# jobs/SWEEP/... or results/SWEEP/...: no empty part, no "." or "..", no control character.
_NAME = re.compile(rf"(jobs|results)(/(?!\.\.?(/|\Z))[^/\0-\x1f\x7f]+){{1,{MAX_DEPTH - 1}}}/*\Z")
_HINT = "archives are made by: hpcbench archive SWEEP"
# All that tarfile and gzip raise for malformed bytes.
_BROKEN = (
    tarfile.TarError,
    gzip.BadGzipFile,
    zlib.error,
    EOFError,
    LookupError,
    ValueError,
    OverflowError,
    RecursionError,
)


@contextmanager
def unpacked(file: Path) -> Iterator[SweepPaths]:
    """Unpack an archive into a temporary folder, yield the sweep in it, and remove the folder at the end.

    Raise UserError if the file is not the archive of one sweep, or if it exceeds a limit.
    """
    folder = Path(tempfile.mkdtemp(prefix="hpcbench-"))
    try:
        name = _unpack(file, folder)
        paths = Workspace(folder).paths(name)
        paths.results.mkdir(parents=True, exist_ok=True)
        yield SweepPaths(name, paths.jobs, paths.results, file)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unpack(file: Path, folder: Path) -> str:
    """Unpack, and return the name of the sweep."""
    try:
        with gzip.open(file) as packed:
            stream = _LimitedStream(packed)
            with tarfile.open(fileobj=stream, mode="r:") as tar:  # type: ignore[call-overload]
                name = _unpack_all(tar, stream, folder, _Room(file, folder))
            stream.allow(MAX_HEAD)
            if any(packed.read(MAX_HEAD)) or packed.read(1):  # read to the end, where the checksum is
                raise ValueError("unexpected data after the last file")
    except _BROKEN as error:
        what = f"the file is not an archive of a sweep, or is damaged: {error or type(error).__name__}"
        raise UserError(what, where=str(file), hint=_HINT) from error
    if not (folder / "jobs" / name / "sweep.json").is_file():
        raise UserError("the archive has no sweep", where=str(file), hint=_HINT)
    return name


def _unpack_all(tar: tarfile.TarFile, stream: _LimitedStream, folder: Path, room: _Room) -> str:
    """Unpack all files, and return the name of their sweep. Raise ValueError if hpcbench does not write such files."""
    sweep = ""
    while True:
        stream.allow(MAX_HEAD)
        member = tar.next()
        if tar.pax_headers:  # tarfile keeps all of them in memory, and hpcbench writes none
            raise ValueError("the archive has a global header")
        if member is None:
            return sweep
        tar.members = []  # type: ignore[attr-defined]  # otherwise tarfile keeps all of them in memory
        path = _checked(member)
        sweep = sweep or path.parts[1]
        if path.parts[1] != sweep:
            raise ValueError(f"the archive has two sweeps, {sweep} and {path.parts[1]}")
        new_folders = sum(1 for _ in takewhile(lambda parent: not (folder / parent).is_dir(), path.parents))
        room.take(stream.taken + member.size, new_folders, is_read=UNREAD.isdisjoint(path.parts[2:3]))
        if not member.isdir():
            stream.allow(member.size)
        try:
            _write(tar, member, folder / path)
        except (FileExistsError, NotADirectoryError) as error:
            raise ValueError(f"{member.name!r} is in the archive twice") from error


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    """Write a file or folder without its owner, mode and time. Raise FileExistsError if the file exists."""
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with tar.extractfile(member) as source, path.open("xb") as file:  # type: ignore[union-attr]  # not of a plain file
        shutil.copyfileobj(source, file)


def _checked(member: tarfile.TarInfo) -> Path:
    """Return the path of a member below the folder. Raise ValueError if hpcbench does not write such a member."""
    name = member.name
    if not (member.isdir() or member.isreg()) or member.issparse() or member.size < 0:  # links, devices, holes
        raise ValueError(f"{name[:100]!r} is not a plain file")
    if len(name) > MAX_NAME or not _NAME.match(name):
        raise ValueError(f"{name[:100]!r} is not a file of a sweep")
    check_name(Path(name).parts[1])
    return Path(name)


class _Room:
    """The bytes and files that this machine still accepts from an archive."""

    def __init__(self, file: Path, folder: Path) -> None:
        free_bytes = int(shutil.disk_usage(folder).free * (1 - SPARE))
        self._file = file
        self._entries, self._bytes, self._read_bytes = MAX_ENTRIES, min(MAX_BYTES, free_bytes), MAX_READ

    def take(self, size: int, new_folders: int, *, is_read: bool) -> None:
        """Count a file or folder of `size` bytes, and the folders made for it. Raise UserError over a limit."""
        self._entries -= 1 + new_folders
        self._bytes -= max(size, BLOCK) + BLOCK * new_folders
        self._read_bytes -= size if is_read else 0
        for left, limit in (
            (self._entries, f"{MAX_ENTRIES:,} files and folders"),
            (self._read_bytes, f"{MAX_READ / 2**30:.0f} GiB outside {', '.join(sorted(UNREAD))}"),
            (self._bytes, f"{MAX_BYTES / 2**30:.0f} GiB, or the free space of {tempfile.gettempdir()} (TMPDIR)"),
        ):
            if left < 0:
                raise UserError(f"the archive is too large: more than {limit}", where=str(self._file), hint=_HINT)


class _LimitedStream:
    """A stream that reads no more bytes than are allowed at the moment.

    The header of a file may claim to be of any size, and tarfile reads all of it into memory.
    """

    def __init__(self, stream: gzip.GzipFile) -> None:
        self._stream = stream
        self.allow(MAX_HEAD)
        self.seek, self.tell = stream.seek, stream.tell

    def allow(self, size: int) -> None:
        """Allow the next `size` bytes to be read."""
        self._allowed = self._left = size

    @property
    def taken(self) -> int:
        """Return how many of the allowed bytes were read."""
        return self._allowed - self._left

    def read(self, size: int = -1) -> bytes:
        """Return the next `size` bytes. Raise ValueError if more bytes are requested than allowed."""
        if not 0 <= size <= self._left:
            raise ValueError("a header is too large")
        self._left -= size
        return self._stream.read(size)
