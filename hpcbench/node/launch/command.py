"""Any program in the place of a worker: how it is started, and what its rank finds out of it.

It runs in the folder of the workspace, by bash, and ends as a job script would at the first line that fails. Files of
one repetition belong into `$HPCBENCH_RUN`, a folder that all its tasks share and that is removed with the record.
"""

import collections
import os
import resource
import subprocess
import sys
from typing import Any, Dict, Optional

from ...core import status
from ...core.files import make_folder
from ...core.run_spec import SHELL
from ..host import hardware, topology
from ..host.sysfs import System
from .rank_files import FOLDER, Output

_UNCAUGHT = 1  # the status with which Python ends by an exception that nobody caught
_LONGEST_TRACEBACK = 1000  # lines


def start(line: str, workspace: str, scratch: str, environment: Dict[str, str]) -> "subprocess.Popen[bytes]":
    """Start a command in a process group of its own, so that all of it can be ended. Raises OSError."""
    folder = os.path.join(scratch, FOLDER)
    make_folder(folder)
    return subprocess.Popen(
        SHELL + [line],
        cwd=workspace,
        env=dict(environment, HPCBENCH_RUN=os.path.abspath(folder)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        close_fds=False,  # a launcher's descriptors are the program's: PMI-2 speaks to it through PMI_FD
        start_new_session=True,
    )


def unsupported(reason: str) -> Dict[str, Any]:
    """Return the facts of a rank that did not start its command."""
    error = {"type": status.UNSUPPORTED, "message": reason, "last_lines": []}
    return {"warnings": [], "status": status.UNSUPPORTED, "error": error}


def last_word_of_memory(ending: Dict[str, Any], output: Output) -> Optional[str]:
    """Return the uncaught exception of a Python program that ran out of memory; None without one."""
    if ending["exit_code"] != _UNCAUGHT:
        return None
    from .. import oom_detection

    with open(output.error, encoding="utf-8", errors="replace") as file:
        lines = [line.rstrip("\r\n") for line in collections.deque(file, _LONGEST_TRACEBACK)]
    return oom_detection.last_word(lines)


def facts(
    ending: Dict[str, Any], elapsed_s: float, end_s: float, complete: bool, exhausted: Optional[str], last: str
) -> Dict[str, Any]:
    """Return what a rank found out, in the form of a worker's: the one sample is how long the command took.

    `complete` says whether the copies hold all that was printed; `exhausted` is how it said that memory ran out; `last`
    is what it said last.
    """
    cpus = hardware.usable_cpus()
    found: Dict[str, Any] = {
        "python": sys.version.split()[0],
        "warnings": [],
        "status": status.FAILED if ending["exit_status"] else status.COMPLETED,
        "samples": {"times_s": [elapsed_s], "windows": [[end_s - elapsed_s, end_s, 1]], "steps_per_sample": 1},
        "affinity": cpus,
        "physical_cores": topology.physical_cores(System(cpus)),
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024,
        "output_complete": complete,
    }
    if exhausted:
        found["status"] = status.OUT_OF_MEMORY
        found["error"] = {"type": "exit", "message": "the command ran out of memory: " + exhausted}
    elif ending["exit_code"] and ending["exit_code"] != status.KILLED:
        message = "the command exited with %d%s" % (ending["exit_code"], ": " + last if last else "")
        found["error"] = {"type": "exit", "message": message}
    return found
