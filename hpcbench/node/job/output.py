"""The output of a run: it goes to the job's output, or, for concurrent runs, to a file that is copied there later."""

import contextlib
import os
import shutil
import sys
import threading
from typing import List, Optional

from ...core.files import no_link

_COPYING = threading.Lock()  # runs that end at the same time would be mixed in the log


class Output:
    """The output of the job itself, which the kernel or Slurm writes to `log`."""

    def __init__(self, log: str) -> None:
        self.log = log
        self.descriptor: Optional[int] = None  # of a file instead of the job's own output

    def report(self, text: str) -> None:
        """Write a line unbuffered, so that the output of the run follows it."""
        data = ("hpcbench: %s\n" % text).encode("utf-8", "replace")
        with contextlib.suppress(OSError):  # a full disk: the record still has the outcome of the run
            os.write(1 if self.descriptor is None else self.descriptor, data)

    def size(self) -> int:
        """Return the size of the log in bytes, which is the offset of the next output; 0 without a log."""
        try:
            return os.stat(self.log).st_size
        except OSError:
            return 0

    def close(self) -> None:
        """End the output of a run. The job's own output stays open."""


class FileOutput(Output):
    """The output of one of several concurrent runs. It is copied into the job's log as a whole."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_TRUNC
        self.descriptor = no_link(path, flags)

    def close(self) -> None:
        """Copy the file to the job's own output, and remove it."""
        if self.descriptor is not None:
            os.close(self.descriptor)
            copy_and_remove(self.log)


def copy_and_remove(path: str) -> None:
    """Copy a file to standard output, and remove it. Ignore a file that does not exist or cannot be copied."""
    with contextlib.suppress(OSError):  # the disk is full, or the folder was removed
        with open(path, "rb") as file, _COPYING:
            shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        os.unlink(path)


def left_by_earlier_start(running: str, job_id: str) -> List[str]:
    """Return the output files of runs that were interrupted before this job was requeued."""
    names = os.listdir(running) if os.path.isdir(running) else []
    return [os.path.join(running, name) for name in sorted(names) if name.endswith("-%s.log" % job_id)]
