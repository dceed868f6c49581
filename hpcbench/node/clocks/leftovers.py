"""Notes of changed devices: a guard writes one, and removes it when it has restored the device.

If the guard is killed, too, its note stays, and the next task on the node restores the device.
"""

import contextlib
import json
import os
from typing import Any, Dict, List, Optional, Type

from ...core.files import make_folder, write_whole
from ..host import hostname
from .control import Control, NotPermitted
from .cpufreq import FrequencyLimits
from .nvidia import LockedClocks, PowerLimits

_FOLDER = os.path.join("results", ".clocks")  # with a folder per node; the name of a sweep never begins with a dot
_CONTROLS: Dict[str, Type[Control]] = {each.method: each for each in (LockedClocks, PowerLimits, FrequencyLimits)}


def folder_of(workspace: str) -> str:
    """Return the folder of the notes of this node. All jobs of the workspace see it, in contrast to /tmp."""
    return os.path.join(os.path.abspath(workspace), _FOLDER, hostname.name(os.environ))


def write(folder: str, saved: Dict[str, Any]) -> str:
    """Write a note that this process will restore the state `saved`; return its path."""
    make_folder(folder)
    path = os.path.join(folder, "%d.json" % os.getpid())
    note = {"boot": _boot(), "process": os.getpid(), "started": _started(os.getpid()), "saved": saved}
    write_whole(path, json.dumps(note), durable=True)
    return path


def restore(saved: Dict[str, Any]) -> None:
    """Restore the state that `Control.saved` has described. Raise NotPermitted if that fails."""
    _CONTROLS[saved["method"]].restore(saved)


def restore_left(folder: str) -> List[str]:
    """Restore the devices whose guard was killed. Return a sentence for each that could not be restored."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:  # no profile has changed a clock of this node
        return []
    found = (_restored(os.path.join(folder, name)) for name in names if name.endswith(".json"))
    return [sentence for sentence in found if sentence]


def _restored(path: str) -> str:
    """Restore the device of one note, and remove the note. Return a sentence if that fails."""
    try:
        with open(path, encoding="utf-8") as file:
            note = json.load(file)
        if note["boot"] == _boot():  # otherwise the restart has reset the device
            if _started(note["process"]) == note["started"]:  # the guard itself will restore it
                return ""
            restore(note["saved"])
    except FileNotFoundError:  # the guard, or another task, has restored it
        return ""
    except (NotPermitted, OSError, ValueError, LookupError, TypeError) as error:
        return "an earlier profile has changed a clock that could not be restored: %s (%s)" % (error, path)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    return ""


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
