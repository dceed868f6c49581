"""One hpcbench at a time on what several machines share, and it is known whose.

A lock of the kernel decides, where it can: it ends with its holder however that dies, and programs that inherit it
hold it, too. It cannot everywhere. Lustre mounted with `localflock`, and BeeGFS as it comes, lock on each machine by
itself; an NFS server does not see its clients' locks among its own; other file systems refuse to lock. So the holder
also makes a file beside the lock that says who it is (only one can make it), and touches it every few seconds. Whoever
finds that file, and cannot know otherwise whether its holder lives, looks for a while whether its time changes. No
clocks are compared: those of two machines may differ.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import click

from hpcbench.errors import UserError
from hpcbench.util.locking.flock import try_lock
from hpcbench.util.locking.owner import Holder, parse, this_process

BEAT_S = 5.0
# Longer than an sbatch may outlive its hpcbench (65 s), which nobody sees where the kernel does not lock, and longer
# than NFS keeps what it knows of a file where it is mounted not to ask at each opening (60 s).
WATCH_S = 75.0
LOOK_S = 1.0
SETTLE_S = 1.0  # within which two that found the same holder dead notice each other
RETRY_S = 0.2


class _Claim(NamedTuple):
    """This process as the holder that the file names, and the descriptor of that file."""

    holder: Holder
    descriptor: int


@dataclass(frozen=True)
class Lease:
    """A lock that this process holds."""

    lock: Path
    what: str
    descriptor: int
    claim: _Claim | None

    def fileno(self) -> int:
        """The descriptor with the kernel's lock: a program that inherits it keeps others out while it lives."""
        return self.descriptor

    def check(self) -> None:
        """Raises UserError where another one has taken over, since this process was stopped and then went on."""
        if self.claim is None:
            return
        found = _read(_holder_file(self.lock))
        if found is None or found.token != self.claim.holder.token:
            by = f" by {found.user}, with `{found.command}` ({found.place})" if found else ""
            raise UserError(
                f"{self.what} was taken over{by}, as this process gave no sign of life for a while: it ends here",
                where=self.lock.parent.name,
                hint="see how it stands: hpcbench status",
            )


class TakenError(UserError):
    """Another one holds the lock."""


@contextmanager
def lease(lock: Path, what: str, patience_s: float = 0) -> Iterator[Lease]:
    """Hold a lock, in a folder that is there. Raises TakenError, with who holds it, where another one does, and still
    does so after `patience_s`.

    It waits, for WATCH_S at most, for what a dead holder left behind, and for a sign of life of one who may be dead.
    """
    with _errors_told(lock):
        descriptor = _open(lock, os.O_RDWR | os.O_CREAT)
    try:
        claim = _patiently_claimed(descriptor, lock, what, patience_s)
        with _kept(lock, claim):
            yield Lease(lock, what, descriptor, claim)
    finally:
        os.close(descriptor)


def is_held(lock: Path) -> bool:
    """Whether somebody seems to hold a lock: a look that keeps nobody out, as taking it for a moment would."""
    try:
        found, beat = _read(_holder_file(lock)), _last_beat(_holder_file(lock))
    except OSError:  # somebody else's, whose folder we may not read
        return False
    if found is None or beat is None or found.lives is False:
        return False
    # On another machine: its clock may differ, and then this is wrong for a while, as after its death.
    return bool(found.lives) or time.time() - beat[1] / 1e9 < 2 * WATCH_S


def _holder_file(lock: Path) -> Path:
    return lock.with_name(f"{lock.name}.holder")


def _patiently_claimed(descriptor: int, lock: Path, what: str, patience_s: float) -> _Claim | None:
    last_s = time.monotonic() + patience_s
    while True:
        try:
            with _errors_told(lock):
                return _claim(lock, what, _lock(descriptor, lock, what))
        except TakenError:
            if time.monotonic() >= last_s:
                raise
            time.sleep(LOOK_S)


def _lock(descriptor: int, lock: Path, what: str) -> bool:
    """Take the kernel's lock; False where there are none. Waits for programs that a dead holder has started."""
    for tries in range(int(WATCH_S / RETRY_S)):
        try:
            return try_lock(descriptor)
        except BlockingIOError:
            found = _read(_holder_file(lock))
        if found and found.lives is not False:
            raise _taken(lock, what, found, locked=True)
        if tries == round(LOOK_S / RETRY_S):
            click.echo(f"waiting for what an earlier hpcbench has started on {what}, and left running", err=True)
        time.sleep(RETRY_S)
    raise UserError(
        f"an earlier hpcbench has ended, but what it started on {what}, an sbatch say, still runs and holds its lock",
        where=lock.parent.name,
        hint=f"this shows it: fuser -v {lock}",
    )


def _claim(lock: Path, what: str, locked: bool) -> _Claim | None:
    """Make the file that names the holder; None where the disk is too full for it and the kernel's lock must do."""
    file, holder = _holder_file(lock), this_process()
    took_over = False
    try:
        while (descriptor := _create(file, holder)) is None:
            found = _read(file)
            if found is None:
                continue
            if found.lives:
                raise _taken(lock, what, found)
            if not (locked and found.is_here):
                if not _seems_dead(lock, what, found):
                    continue
                took_over = True
            file.unlink(missing_ok=True)
    except OSError as error:
        if locked and error.errno in (errno.ENOSPC, errno.EDQUOT):
            return None
        raise
    if took_over:
        time.sleep(SETTLE_S)
        found = _read(file)
        if found is None or found.token != holder.token:
            os.close(descriptor)
            raise _taken(lock, what, found or Holder())
    return _Claim(holder, descriptor)


def _create(file: Path, holder: Holder) -> int | None:
    """A descriptor of the new file with the holder in it; None where there is such a file."""
    try:
        descriptor = _open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    except FileExistsError:
        return None
    try:
        os.write(descriptor, holder.as_text().encode())
        os.fsync(descriptor)
    except OSError:
        os.close(descriptor)
        file.unlink()
        raise
    return descriptor


def _seems_dead(lock: Path, what: str, found: Holder) -> bool:
    """Whether a holder gave no sign of life for WATCH_S; False where it let go. Raises UserError where it gave one."""
    file = _holder_file(lock)
    before = _last_beat(file)
    click.echo(f"{_working(found, what)}; waiting {WATCH_S:.0f} s for a sign of life", err=True)
    # Looks are counted, not seconds: while a file system hangs, it hangs for the holder as well.
    for _ in range(int(WATCH_S / LOOK_S)):
        time.sleep(LOOK_S)
        now = _last_beat(file)
        if now is None:
            return False
        if now != before:
            raise _taken(lock, what, _read(file) or found)
    return True


def _last_beat(file: Path) -> tuple[int, int] | None:
    """Of the file as it is now: NFS asks its server when a file is opened."""
    try:
        with open(file, "rb", opener=_opener) as stream:
            status = os.fstat(stream.fileno())
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


@contextmanager
def _kept(lock: Path, claim: _Claim | None) -> Iterator[None]:
    """Show signs of life in a claim, and remove it in the end."""
    if claim is None:
        yield
        return
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(BEAT_S):
            with suppress(OSError):  # it may come back
                os.utime(claim.descriptor)

    heart = threading.Thread(target=beat, daemon=True)
    heart.start()
    try:
        yield
    finally:
        ended.set()
        heart.join()
        os.close(claim.descriptor)
        with suppress(OSError):
            found = _read(_holder_file(lock))
            if found and found.token == claim.holder.token:
                _holder_file(lock).unlink()


def _read(file: Path) -> Holder | None:
    """The holder that the file names; None where there is no file."""
    try:
        with open(file, "rb", opener=_opener) as stream:
            return parse(stream.read(10_000).decode(errors="replace"))
    except FileNotFoundError:
        return None


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)


def _open(file: Path, flags: int) -> int:
    """Whoever may write in the folder may write in the file, too, and take it over."""
    descriptor = os.open(file, flags | os.O_NOFOLLOW, 0o600)
    with suppress(OSError):  # another one's file
        os.fchmod(descriptor, file.parent.stat().st_mode & 0o666)
    return descriptor


def _taken(lock: Path, what: str, found: Holder, *, locked: bool = False) -> TakenError:
    hint = "wait until it is done"
    if found.is_stopped:
        hint = f"that process stands still: go on with it in its shell (fg), or end it: kill -9 {found.pid}"
    elif locked and not found.is_here:  # NFS 3 keeps the lock of a machine that died until it starts again
        hint += f"; if {found.host or 'its machine'} is down and stays so, remove {lock} and try again"
    return TakenError(_working(found, what), where=lock.parent.name, hint=hint)


def _working(found: Holder, what: str) -> str:
    if not found.token:
        return f"another hpcbench is working on {what}"
    return f"{found.user} has been working on {what} since {found.begun}, by `{found.command}` ({found.place})"


@contextmanager
def _errors_told(lock: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(
            f"cannot be locked: {error.strerror}", where=str(lock), hint="hpcbench must be able to write in this folder"
        ) from error
