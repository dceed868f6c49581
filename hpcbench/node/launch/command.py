"""Run the command of a case instead of a worker, and report the facts of its rank.

The command runs in the workspace folder, by bash, and ends at the first line that fails. Files of one run belong in
`$HPCBENCH_RUN`, a folder that all its tasks share and that is removed after the record is written. There, the package
hpcbench_probe writes the steps of Python programs that use it (see results/probe_files.py).
"""

import os
import resource
import subprocess
import sys
import zipimport
from typing import Any, Dict, List, Optional

from ...core import status
from ...core.files import make_folder, write_whole
from ...core.metrics.plain_text import decoded
from ...core.rank_command import PROBE
from ..host import hardware, topology
from ..host.sysfs import System
from . import output_copy
from .rank_files import FOLDER, Output

_UNCAUGHT = 1  # exit status of Python after an uncaught exception
_LONGEST_TRACEBACK = 1000  # lines


def start(
    words: List[str], workspace: str, scratch: str, environment: Dict[str, str], zipapp: str
) -> "subprocess.Popen[bytes]":
    """Start a command in a process group of its own, so that all of it can be ended. Raise OSError if that fails.

    hpcbench_probe from `zipapp` is the last entry of its PYTHONPATH, so modules of the program take precedence.
    """
    folder = os.path.join(scratch, FOLDER)
    make_folder(folder)
    paths = [environment.get("PYTHONPATH", ""), _probe(os.path.abspath(zipapp), os.path.abspath(scratch))]
    return subprocess.Popen(
        words,
        cwd=workspace,
        env=dict(environment, HPCBENCH_RUN=os.path.abspath(folder), PYTHONPATH=os.pathsep.join(filter(None, paths))),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        close_fds=False,  # PMI-2 uses a descriptor of the launcher, which it finds in PMI_FD
        start_new_session=True,
    )


def _probe(zipapp: str, scratch: str) -> str:
    """Return the small zip file of hpcbench_probe, after copying it from the zipapp to `scratch`.

    If that fails, print a warning and return an empty string: most programs do not use the package.
    Each start of Python reads the list of files of each zip file on PYTHONPATH. For the zipapp, this takes 4 ms.
    """
    path = os.path.join(scratch, PROBE)
    try:  # each rank writes it, because an existing file may be from another user
        write_whole(path, zipimport.zipimporter(zipapp).get_data(PROBE))
    except (OSError, ImportError) as error:
        print("hpcbench: warning: hpcbench_probe cannot be added to PYTHONPATH: %s" % error, file=sys.stderr)
        return ""
    return path


def unsupported(reason: str) -> Dict[str, Any]:
    """Return the facts of a rank that did not start its command."""
    error = {"type": status.UNSUPPORTED, "message": reason, "last_lines": []}
    return {"warnings": [], "status": status.UNSUPPORTED, "error": error}


def last_word_of_memory(ending: Dict[str, Any], output: Output) -> Optional[str]:
    """Return the uncaught exception of a Python program that ran out of memory; None without one."""
    if ending["exit_code"] != _UNCAUGHT:
        return None
    from .. import oom_detection

    printed = decoded([part.content for part in output_copy.parts(output.error)])
    return oom_detection.last_word(printed.splitlines()[-_LONGEST_TRACEBACK:])


def facts(
    ending: Dict[str, Any], elapsed_s: float, end_s: float, complete: bool, exhausted: Optional[str], last: str
) -> Dict[str, Any]:
    """Return the facts of a rank in the form of a worker's. The only measurement is the wall time of the command,
    `elapsed_s`.

    `complete` is whether the copies have lost nothing, `exhausted` the message if memory ran out, `last` the last line.
    """
    cpus = hardware.usable_cpus()
    found: Dict[str, Any] = {
        "python": sys.version.split()[0],
        "warnings": [],
        "status": status.FAILED if ending["exit_status"] else status.COMPLETED,
        "measurements": {
            "times_s": [elapsed_s],
            "windows": [[end_s - elapsed_s, end_s, 1]],
            "steps_per_measurement": 1,
        },
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
