"""Unpacking an archive, which may have been made by anybody: into a private folder, and nothing but plain files.

tarfile's own extraction filters came with Python 3.12 and late versions of those before it, and allow more than this
does: an archive holds the files of one sweep, no links, no owners, no more than a disk can take.
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
from dataclasses import dataclass, field
from pathlib import Path

from hpcbench.config.names import check_name
from hpcbench.errors import UserError
from hpcbench.store.workspace import SweepPaths, Workspace

MOST_ENTRIES = 1_000_000
MOST_BYTES = 20 * 2**30  # unpacked
MOST_READ = 2 * 2**30  # of these, beside the folders UNREAD: a report reads it into memory
UNREAD = frozenset(("logs", "timelines"))
BLOCK = 4096  # what the smallest file, or a folder, takes of a disk
MOST_HEAD = 2**20  # bytes before the content of a file
MOST_DEPTH, MOST_NAME = 12, 1000
SPARE = 0.1  # of the disk, that stays free
_PART = re.compile(r"[^/\0-\x1f\x7f]+\Z")
_HINT = "archives are made by: hpcbench archive SWEEP"
# Whatever tarfile and gzip say to bytes that nobody should have written.
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
    """The sweep in an archive, in a folder that is removed at the end. Raises UserError for what is no such archive."""
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
            stream = _Allowed(packed)
            with tarfile.open(fileobj=stream, mode="r:") as tar:  # type: ignore[call-overload]
                name = _unpack_all(tar, stream, folder, file)
            stream.allow(MOST_HEAD)
            if any(packed.read(MOST_HEAD)) or packed.read(1):  # to its end, where its checksum is
                raise tarfile.ReadError("something follows its last file")
    except _BROKEN as error:
        what = f"is no archive of a sweep, or it is damaged: {error or type(error).__name__}"
        raise UserError(what, where=str(file), hint=_HINT) from error
    if name is None or not (folder / "jobs" / name / "sweep.json").is_file():
        raise UserError("holds no sweep", where=str(file), hint=_HINT)
    return name


def _unpack_all(tar: tarfile.TarFile, stream: _Allowed, folder: Path, file: Path) -> str | None:
    sweep: str | None = None
    room = _Room(file, min(MOST_BYTES, int(shutil.disk_usage(folder).free * (1 - SPARE))))
    while True:
        stream.allow(MOST_HEAD)
        member = tar.next()
        if tar.pax_headers:  # of all files: hpcbench writes none, and tarfile keeps whatever comes
            raise _refused("has a head for all of its files", file)
        if member is None:
            return sweep
        tar.members = []  # type: ignore[attr-defined]  # or it would keep all of them
        path = _checked(member, file)
        if sweep not in (None, path.parts[1]):
            raise _refused(f"holds two sweeps, {sweep} and {path.parts[1]}", file)
        sweep = path.parts[1]
        room.take(stream.taken + member.size, is_read=UNREAD.isdisjoint(path.parts[2:3]))
        try:
            _make_folders(folder, path if member.isdir() else path.parent, room)
            if not member.isdir():
                stream.allow(member.size)
                _write(tar, member, folder / path, file)
        except (FileExistsError, NotADirectoryError) as error:
            raise _refused(f"holds {member.name!r} twice", file) from error


def _make_folders(top: Path, path: Path, room: _Room) -> None:
    """Make a folder below the top, and those on the way, each of which takes room, too."""
    missing = []
    while not (top / path).is_dir():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        room.take(0)
        (top / folder).mkdir()


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path, file: Path) -> None:
    """No link can lie on the way: nothing but files and folders is ever made in this folder."""
    content = tar.extractfile(member)
    if content is None:
        raise _refused(f"holds {member.name!r}, which is no plain file", file)
    with path.open("xb") as target:
        shutil.copyfileobj(content, target)


@dataclass
class _Room:
    """How much more of an archive this machine takes."""

    file: Path
    bytes_left: int
    bytes_to_read_left: int = field(default_factory=lambda: MOST_READ)
    entries_left: int = field(default_factory=lambda: MOST_ENTRIES)

    def take(self, size: int, *, is_read: bool = False) -> None:
        """Count a file or folder, and its head. Raises UserError where there is no more room."""
        self.entries_left -= 1
        self.bytes_left -= max(size, BLOCK)
        self.bytes_to_read_left -= size if is_read else 0
        if self.entries_left < 0:
            raise self._full(f"{MOST_ENTRIES:,} files and folders")
        if self.bytes_to_read_left < 0:
            raise self._full(f"{MOST_READ / 2**30:.0f} GB beside its {' and '.join(sorted(UNREAD))}")
        if self.bytes_left < 0:
            where = f"{tempfile.gettempdir()} (TMPDIR)"
            raise self._full(f"{MOST_BYTES / 2**30:.0f} GB, or than there is room for in {where}")

    def _full(self, limit: str) -> UserError:
        return _refused(f"is larger than this machine takes: more than {limit}", self.file)


def _checked(member: tarfile.TarInfo, file: Path) -> Path:
    """The path of a member below the folder. Raises UserError for what an archive of a sweep does not have."""
    shown = repr(member.name[:100])
    if not (member.isdir() or (member.isreg() and not member.issparse())):
        raise _refused(f"holds {shown}, which is no plain file", file)
    parts = member.name.rstrip("/").split("/") if len(member.name) <= MOST_NAME else []
    plain = all(_PART.match(part) and part not in (".", "..") for part in parts)
    if not 2 <= len(parts) <= MOST_DEPTH or not plain or parts[0] not in ("jobs", "results"):
        raise _refused(f"holds {shown}, which is no file of a sweep", file)
    try:
        check_name(parts[1])
    except ValueError:
        raise _refused(f"holds {shown}, which is no file of a sweep", file) from None
    if member.size < 0:
        raise _refused(f"holds {shown}, which has no size", file)
    return Path(*parts)


def _refused(what: str, file: Path) -> UserError:
    return UserError(what, where=str(file), hint=f"nothing of it was used; {_HINT}")


class _Allowed:
    """A stream of which no more is read than is allowed just then: the head of a file may claim to be of any size, and
    tarfile reads all of it into memory."""

    def __init__(self, stream: gzip.GzipFile) -> None:
        self._stream = stream
        self.allow(MOST_HEAD)
        self.seek, self.tell = stream.seek, stream.tell

    def allow(self, size: int) -> None:
        self._allowed = self._left = size

    @property
    def taken(self) -> int:
        """What was read of that."""
        return self._allowed - self._left

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= self._left:
            raise tarfile.ReadError("the head of a file in it is too large")
        self._left -= size
        return self._stream.read(size)
