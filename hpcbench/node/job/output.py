"""Where the output of a run goes: to that of the job, or, for concurrent runs, to a file that is copied there later."""

import contextlib
import os
import shutil
import sys
from typing import List, Optional

from ...core.files import no_link


class Output:
    """The output of the job itself, which the kernel or Slurm writes to `log`."""

    def __init__(self, log: str) -> None:
        self.log = log
        self.descriptor: Optional[int] = None  # of a file in place of the job's own output

    def report(self, text: str) -> None:
        """Write a line, at once: what the run prints comes after it."""
        data = ("hpcbench: %s\n" % text).encode("utf-8", "replace")
        with contextlib.suppress(OSError):  # a full disk: the record says what became of the run
            os.write(1 if self.descriptor is None else self.descriptor, data)

    def size(self) -> int:
        """Return where in the log the next output begins."""
        try:
            return os.stat(self.log).st_size
        except OSError:
            return 0

    def close(self) -> None:
        """Finish: nothing is to be done for the job's own output."""


class FileOutput(Output):
    """The output of one of several runs side by side: it comes into the job's log as a whole."""

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
    """Copy a file to the standard output, and remove it. A file that is not there is none."""
    with contextlib.suppress(OSError):  # the job's log is full, or somebody removed the folder
        with open(path, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        os.unlink(path)


def left_by_earlier_start(running: str, job_id: str) -> List[str]:
    """Return the files of runs that were cut off when this job ran before."""
    names = os.listdir(running) if os.path.isdir(running) else []
    return [os.path.join(running, name) for name in sorted(names) if name.endswith("-%s.log" % job_id)]
