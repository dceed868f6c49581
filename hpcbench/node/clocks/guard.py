"""The guard: a process that restores the clock of a device after the process that changed it has ended in any way.

It waits for the end of a pipe, which the kernel closes when the other process ends, also by SIGKILL. Only a signal that
no process can ignore, sent to both at once, prevents it: e.g. Slurm's SIGKILL to all processes of a step. Then the note
of the guard stays, by which the next task on the node restores the device.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from typing import Any, Iterator, List

from . import leftovers
from .control import Control, NotPermitted

COMMAND = "restore-clocks"  # of the zipapp
RESTORE_LIMIT_S = 30.0
_IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)


@contextlib.contextmanager
def guarded(control: Control, failures: List[str], folder: str, zipapp: str = "") -> Iterator[None]:
    """Return a context after which the device is in its present state again, however this process ends.

    The guard writes its note to `folder`. Append a sentence to `failures` if the device could not be restored.
    """
    words = [sys.executable, zipapp or sys.argv[0], COMMAND, json.dumps(control.saved()), folder]
    guard = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    if guard.stdout is None or not guard.stdout.readline():
        guard.kill()
        guard.wait()
        raise NotPermitted("the process that restores the clock could not be started")
    try:
        yield
    finally:
        try:
            reason = guard.communicate(timeout=RESTORE_LIMIT_S)[0].decode("utf-8", "replace").strip()  # closes the pipe
        except subprocess.TimeoutExpired:
            reason = "it takes longer than %g s" % RESTORE_LIMIT_S
        if reason or guard.returncode:
            failures.append("the %s could not be restored: %s" % (control.method, reason or "unknown reason"))


def restore_clocks(arguments: Any) -> int:
    """Write a note, and wait until standard input ends; then restore the state that `saved` describes as JSON."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    saved = json.loads(arguments.saved)
    note = leftovers.write(arguments.folder, saved)
    print("ready", flush=True)
    while os.read(0, 1):
        pass
    try:
        leftovers.restore(saved)
    except NotPermitted as error:
        with contextlib.suppress(OSError):  # the reader has ended
            print(error, flush=True)
        return 1
    note.remove()
    return 0
