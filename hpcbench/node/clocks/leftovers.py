"""Notes of changed devices: a guard writes one, and removes it when it has restored the device.

If the guard is killed, too, its note stays, and the next task on the node restores the device. A guard holds a lock of
its note (flock). On file systems without locks, its process decides whether it runs.

Other users may be able to write to the folder. Only regular files of this user are notes, and a note names devices and
numbers, but no paths.
"""

import contextlib
import errno
import fcntl
import json
import os
import stat
import uuid
from typing import Any, Dict, List, NamedTuple, Optional, Type

from ...core.files import make_folder, no_link, write_all
from ..host import hostname
from .control import Control, NotPermitted
from .cpufreq import FrequencyLimits
from .nvidia import LockedClocks, PowerLimits

_FOLDER = os.path.join("results", ".clocks")  # with a folder per node; the name of a sweep never begins with a dot
_SUFFIX = ".json"
_MOST_BYTES = 1 << 20  # of a note
_CONTROLS: Dict[str, Type[Control]] = {each.method: each for each in (LockedClocks, PowerLimits, FrequencyLimits)}


def folder_of(workspace: str) -> str:
    """Return the folder of the notes of this node. All jobs of the workspace see it, in contrast to /tmp."""
    return os.path.join(os.path.abspath(workspace), _FOLDER, hostname.name(os.environ))


class Note(NamedTuple):
    """A note of this process, which holds its lock."""

    path: str
    handle: int

    def remove(self) -> None:
        """Remove the note, because the device is restored."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        os.close(self.handle)


def write(folder: str, saved: Dict[str, Any]) -> Note:
    """Write a note that this process will restore the state `saved`."""
    make_folder(folder)
    path = os.path.join(folder, uuid.uuid4().hex)  # process IDs are not unique on a node: containers have their own
    handle = no_link(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    process = os.getpid()
    note = {"boot": _boot(), "process": process, "started": _started(process), "locked": _lock(handle), "saved": saved}
    write_all(handle, json.dumps(note).encode())
    os.fsync(handle)
    os.rename(path, path + _SUFFIX)  # locked and complete
    return Note(path + _SUFFIX, handle)


def restore(saved: Dict[str, Any]) -> None:
    """Restore the state that `Control.saved` has described. Raise NotPermitted if that fails."""
    _CONTROLS[saved["method"]].restore(saved)


def restore_left(folder: str, root: str = "/") -> List[str]:
    """Restore the devices whose guard was killed. Return a sentence for each that could not be restored.

    `root` is the folder with /sys.
    """
    found = (_restored(path, root) for path in notes(folder))
    return [sentence for sentence in found if sentence]


def notes(folder: str) -> List[str]:
    """Return the paths of the notes in a folder, sorted; none if it cannot be read."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:  # no profile has changed a clock of this node
        return []
    return [os.path.join(folder, name) for name in names if name.endswith(_SUFFIX)]


def _restored(path: str, root: str) -> str:
    """Restore the device of one note, and remove the note. Return a sentence if that fails."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            is_locked = _lock(handle)
            if os.fstat(handle).st_nlink:  # otherwise the guard, or another task, has just restored it
                _restore(handle, path, is_locked, root)
        finally:
            os.close(handle)
    except (FileNotFoundError, BlockingIOError):  # it is restored, or will be restored by the guard or another task
        return ""
    except PermissionError:  # it is the note of another user, who may be running a profile now
        return "another user's profile may have changed a clock of this node (%s)" % path
    except Exception as error:  # a note may have any content, and must not end the task
        what = "an earlier profile has changed a clock that could not be restored: %s" % error
        return "%s; ask your administrator to restore it, then delete %s" % (what, path)
    return ""


def _restore(handle: int, path: str, is_locked: bool, root: str) -> None:
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
        raise NotPermitted("its note is not a file of this user")
    note = json.loads(os.read(handle, _MOST_BYTES))
    if note["boot"] == _boot():  # otherwise the restart has reset the device
        may_run = not (is_locked and note["locked"])
        if may_run and _started(note["process"]) == note["started"]:
            return
        restore({**note["saved"], "root": root})
    os.unlink(path)


def _lock(handle: int) -> bool:
    """Lock a file; return False on a file system without locks.

    Raise BlockingIOError if another process has locked it.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN):
            raise
        return False
    return True


def _boot() -> Optional[str]:
    """Return what identifies the time since the node was started; None if it is unknown."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return None


def _started(process: int) -> Optional[str]:
    """Return the start time of a process, in ticks since the start of the node; None if it has ended."""
    try:
        with open("/proc/%d/stat" % process, encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19]  # field 22: the name in parentheses may contain blanks
    except (OSError, IndexError):
        return None
