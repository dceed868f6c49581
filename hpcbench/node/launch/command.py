"""Any program in the place of a worker: how it is started, and what its output and files tell when it has ended.

It runs in the folder of the workspace, by bash, and ends as a job script would at the first line that fails. Files of
one repetition belong into `$HPCBENCH_RUN`, a folder that all its tasks share and that is removed with the record.
"""

import collections
import os
import platform
import re
import resource
import subprocess
from typing import Any, Dict, Iterator, List, NamedTuple, Optional

from ...core import metrics, status
from ...core.files import make_folder
from ...core.metrics import MetricError
from ...core.run_spec import SHELL
from ...core.samples import of_whole
from ...core.typed_json import to_json
from .. import oom_detection
from ..host import hardware, topology
from ..host.sysfs import System

MOST_BYTES = 16 * 2**20  # of one output or file that is searched
_FOLDER = "run"
_UNCAUGHT = 1  # the status with which Python ends by an exception that nobody caught
_LONGEST_TRACEBACK = 1000  # lines
_NAMED = 5  # files, in a message


class Output(NamedTuple):
    """Where the copies of what one task prints are kept."""

    standard: str
    error: str


def output_of(rank: int, scratch: str) -> Output:
    return Output(os.path.join(scratch, "rank-%d.out" % rank), os.path.join(scratch, "rank-%d.err" % rank))


def start(line: str, workspace: str, scratch: str, environment: Dict[str, str]) -> "subprocess.Popen[bytes]":
    """Start a command in a process group of its own, so that all of it can be ended. Raises OSError."""
    folder = os.path.join(scratch, _FOLDER)
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
    """The facts of a rank that did not start its command."""
    error = {"type": status.UNSUPPORTED, "message": reason, "last_lines": []}
    return {"warnings": [], "status": status.UNSUPPORTED, "error": error}


def last_word_of_memory(ending: Dict[str, Any], output: Output) -> Optional[str]:
    """The uncaught exception by which a Python program has said that memory ran out; None where it has not."""
    if ending["exit_code"] != _UNCAUGHT:
        return None
    with open(output.error, encoding="utf-8", errors="replace") as file:
        lines = [line.rstrip("\r\n") for line in collections.deque(file, _LONGEST_TRACEBACK)]
    return oom_detection.last_word(lines)


def facts(
    ending: Dict[str, Any], elapsed_s: float, end_s: float, complete: bool, exhausted: Optional[str], last: str
) -> Dict[str, Any]:
    """What a rank found out, in the form of a worker's: the one sample is how long the command took.

    `complete` says whether the copies hold all that was printed; `exhausted` is how it said that memory ran out; `last`
    is what it said last.
    """
    cpus = hardware.usable_cpus()
    found: Dict[str, Any] = {
        "python": platform.python_version(),
        "warnings": [],
        "status": status.FAILED if ending["exit_status"] else status.COMPLETED,
        "samples": to_json(of_whole(elapsed_s, end_s, None)),
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


def measured(experiment: Dict[str, Any], ranks: List[Dict[str, Any]], scratch: str) -> Dict[str, Any]:
    """The metrics of a command whose tasks have all ended well.

    Raises MetricError where an expected pattern is missing, or a metric has no value.
    """
    for pattern in experiment.get("expect") or ():
        if not any(_searched(pattern, text) for text in _printed(ranks, scratch, with_errors=True)):
            raise MetricError("the expected pattern '%s' was not found in the output" % pattern)
    specs: Dict[str, metrics.Spec] = experiment.get("metrics") or {}
    return {name: _measured(name, spec, ranks, scratch) for name, spec in specs.items()}


def _measured(name: str, spec: metrics.Spec, ranks: List[Dict[str, Any]], scratch: str) -> Dict[str, Any]:
    """A pattern is looked for in all that was printed; JSON and CSV would be broken by words on standard error."""
    if spec["file"] is None:
        texts = _printed(ranks, scratch, with_errors=spec["regex"] is not None)
        return metrics.value_of(name, spec, texts, "the output")
    try:
        text = _read(os.path.join(scratch, _FOLDER, spec["file"]))
    except OSError as error:
        named = (name, spec["file"], error.strerror, _listed(os.path.join(scratch, _FOLDER)))
        raise MetricError("metric '%s': the file %s in $HPCBENCH_RUN: %s; %s" % named) from error
    return metrics.value_of(name, spec, [text], "the file %s" % spec["file"])


def _searched(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text, re.MULTILINE) is not None
    except re.error as error:  # what the planner's Python knows, an older one on the node may not
        raise MetricError("'%s' is not a regular expression: %s" % (pattern, error)) from error


def _printed(ranks: List[Dict[str, Any]], scratch: str, with_errors: bool) -> Iterator[str]:
    """What the tasks printed, by rank: the standard output, and after it the standard error where it is wanted."""
    for rank in ranks:
        if not rank["facts"]["output_complete"]:
            said = "rank %d printed more than %d MiB, or went on after its end" % (rank["rank"], MOST_BYTES // 2**20)
            raise MetricError("%s: that is not searched; write metrics to a file in $HPCBENCH_RUN" % said)
        output = output_of(rank["rank"], scratch)
        for path in output if with_errors else output[:1]:
            yield _read(path)


def _read(path: str) -> str:
    """A text, without the mark that some programs put before it. Raises OSError, and MetricError where it is huge."""
    with open(path, "rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise MetricError("%s is larger than %d MiB" % (os.path.basename(path), MOST_BYTES // 2**20))
    return content.decode("utf-8-sig", "replace")


def _listed(folder: str) -> str:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        names = []
    shown = ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")
    return "there are: %s" % shown if names else "it is empty"
