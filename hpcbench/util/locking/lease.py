"""A lock for one hpcbench at a time on a folder that several machines share, with the name of its holder.

If the file system supports it, a lock of the kernel decides: it ends when its holder ends, and programs that inherit
it hold it, too. Some file systems do not support it. Lustre mounted with `localflock`, and BeeGFS by default, lock on
each machine separately; an NFS server does not see the locks of its clients among its own; other file systems refuse
to lock. The holder therefore also creates a file next to the lock that names it (only one process can create it), and
touches this file every few seconds. A process that finds the file, and cannot find out in another way whether its
holder is alive, watches for WATCH_S seconds whether the time of the file changes. It compares no clocks: those of two
machines may differ.
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
# Longer than an sbatch may outlive its hpcbench (65 s), which is not visible without locks of the kernel. Longer than
# NFS caches the attributes of a file if it is mounted without close-to-open consistency (60 s).
WATCH_S = 75.0
LOOK_S = 1.0
SETTLE_S = 1.0  # in this time, two processes that found the same holder dead notice each other
RETRY_S = 0.2


class _Claim(NamedTuple):
    """This process as the holder that the file names, and the descriptor of the file."""

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
        """Return the descriptor with the kernel's lock: a program that inherits it holds the lock until it ends."""
        return self.descriptor

    def check(self) -> None:
        """Raise UserError if another process has taken over the lock.

        That happens if this process was stopped for a while and then continued.
        """
        if self.claim is None:
            return
        found = _read(_holder_file(self.lock))
        if found is None or found.token != self.claim.holder.token:
            to = f" to {found.user}, with `{found.command}` ({found.place})" if found else ""
            raise UserError(
                f"lost the lock on {self.what}{to} (heartbeat timeout); exiting",
                where=self.lock.parent.name,
                hint="check the state: hpcbench status",
            )


class TakenError(UserError):
    """Another process holds the lock."""


@contextmanager
def lease(lock: Path, what: str, timeout_s: float = 0) -> Iterator[Lease]:
    """Hold the lock file `lock`, in an existing folder, inside the `with` block, and yield it as a Lease.

    `what` names the locked thing in messages. Wait at most WATCH_S seconds for programs that a dead holder left
    running, and for a heartbeat of a holder that may be dead. Raise TakenError, which names the holder, if another
    process still holds the lock after `timeout_s` seconds.
    """
    with _errors_reported(lock):
        descriptor = _open(lock, os.O_RDWR | os.O_CREAT)
    try:
        claim = _claimed_within(descriptor, lock, what, timeout_s)
        with _kept(lock, claim):
            yield Lease(lock, what, descriptor, claim)
    finally:
        os.close(descriptor)


def is_held(lock: Path) -> bool:
    """Return whether a process seems to hold a lock. This check does not take the lock."""
    try:
        found, beat = _read(_holder_file(lock)), _last_beat(_holder_file(lock))
    except OSError:  # the folder of another user, without read permission
        return False
    if found is None or beat is None or found.lives is False:
        return False
    # A holder on another machine: if its clock differs, or it has just died, this is wrong for a while.
    return bool(found.lives) or time.time() - beat[1] / 1e9 < 2 * WATCH_S


def _holder_file(lock: Path) -> Path:
    return lock.with_name(f"{lock.name}.holder")


def _claimed_within(descriptor: int, lock: Path, what: str, timeout_s: float) -> _Claim | None:
    last_s = time.monotonic() + timeout_s
    while True:
        try:
            with _errors_reported(lock):
                return _claim(lock, what, _lock(descriptor, lock, what))
        except TakenError:
            if time.monotonic() >= last_s:
                raise
            time.sleep(LOOK_S)


def _lock(descriptor: int, lock: Path, what: str) -> bool:
    """Take the kernel's lock; wait for programs of a dead holder. Return False if the file system has no locks."""
    for tries in range(int(WATCH_S / RETRY_S)):
        try:
            return try_lock(descriptor)
        except BlockingIOError:
            found = _read(_holder_file(lock))
        if found and found.lives is not False:
            raise _taken(lock, what, found, locked=True)
        if tries == round(LOOK_S / RETRY_S):
            click.echo(f"waiting for processes of an earlier hpcbench that still work on {what}", err=True)
        time.sleep(RETRY_S)
    raise UserError(
        f"an earlier hpcbench has ended, but a process that it started, e.g. sbatch, still holds the lock of {what}",
        where=lock.parent.name,
        hint=f"find the process: fuser -v {lock}",
    )


def _claim(lock: Path, what: str, locked: bool) -> _Claim | None:
    """Create the file that names the holder. Return None if the disk is full and the kernel holds the lock."""
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
    """Return a descriptor of the new file with the holder in it, or None if the file exists."""
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
    """Return True if a holder had no heartbeat for WATCH_S seconds, False if it released the lock.

    Raise TakenError if it had a heartbeat.
    """
    file = _holder_file(lock)
    before = _last_beat(file)
    click.echo(f"{_working(found, what)}; waiting {WATCH_S:.0f} s for a heartbeat", err=True)
    # Count checks, not seconds: if the file system hangs, it hangs for the holder as well.
    for _ in range(int(WATCH_S / LOOK_S)):
        time.sleep(LOOK_S)
        now = _last_beat(file)
        if now is None:
            return False
        if now != before:
            raise _taken(lock, what, _read(file) or found)
    return True


def _last_beat(file: Path) -> tuple[int, int] | None:
    """Return inode and time (ns) of the file, or None if it is missing. NFS queries its server only at an open."""
    try:
        with open(file, "rb", opener=_opener) as stream:
            status = os.fstat(stream.fileno())
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


@contextmanager
def _kept(lock: Path, claim: _Claim | None) -> Iterator[None]:
    """Touch the file of a claim every BEAT_S seconds inside the `with` block, and remove it at the end."""
    if claim is None:
        yield
        return
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(BEAT_S):
            with suppress(OSError):  # the file system may come back
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
    """Return the holder that the file names, or None if there is no file."""
    try:
        with open(file, "rb", opener=_opener) as stream:
            return parse(stream.read(10_000).decode(errors="replace"))
    except FileNotFoundError:
        return None


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW)


def _open(file: Path, flags: int) -> int:
    """Open a file with the permissions of its folder: a user with write access to the folder may take over the lock."""
    descriptor = os.open(file, flags | os.O_NOFOLLOW, 0o600)
    with suppress(OSError):  # the file of another user
        os.fchmod(descriptor, file.parent.stat().st_mode & 0o666)
    return descriptor


def _taken(lock: Path, what: str, found: Holder, *, locked: bool = False) -> TakenError:
    hint = "wait until it has finished"
    if found.is_stopped:
        hint = f"that process is stopped: continue it in its shell (fg), or end it: kill -9 {found.pid}"
    elif locked and not found.is_here:  # NFS 3 keeps the lock of a dead machine until it starts again
        hint += f"; if {found.host or 'its machine'} is down permanently, remove {lock} and try again"
    return TakenError(_working(found, what), where=lock.parent.name, hint=hint)


def _working(found: Holder, what: str) -> str:
    if not found.token:
        return f"another hpcbench is working on {what}"
    return f"{found.user} has been working on {what} since {found.begun}, by `{found.command}` ({found.place})"


@contextmanager
def _errors_reported(lock: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UserError(
            f"the file cannot be locked: {error.strerror}",
            where=str(lock),
            hint="check that you can write in this directory",
        ) from error
