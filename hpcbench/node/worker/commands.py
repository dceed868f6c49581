"""The command of the zipapp that runs the workload of one rank."""

import json
import os
import sys
import tempfile
from typing import Any, Dict

from ...core.files import write_all
from ...core.run_spec import read
from ...core.status import COMPLETED
from ..launch.rank_files import EARLY, Files
from ..launch.ranks import from_environment
from .worker import needs_thread_search, run, search_threads


def work(arguments: Any) -> int:
    """Run the workload of one rank, and write its result as a line of JSON to a file descriptor. Do not return.

    Lines with EARLY precede it: the result if the process ended before a part that follows the measurement.
    """
    planned, result = read(arguments.job_file, arguments.element), arguments.result_fd
    ranks, environment = from_environment(os.environ), dict(os.environ)
    files = Files(arguments.profile, arguments.trajectory)
    if arguments.found_fd is not None:
        with os.fdopen(arguments.found_fd, encoding="utf-8") as file:
            found = json.load(file)
        facts = run(planned, ranks, found, files, lambda early: _write({**early, EARLY: True}, result))
    elif needs_thread_search(planned):
        facts = search_threads(planned, ranks)
        if facts["status"] == COMPLETED:
            _start_again(facts["found"], environment)
    else:
        facts = run(planned, ranks, None, files, lambda early: _write({**early, EARLY: True}, result))
    _write(facts, result)
    sys.stdout.flush()
    sys.stderr.flush()
    # The result is written. A regular exit would let C++ destructors race with the framework's threads: one in five DDP
    # runs on gloo aborted there, after all its work was done.
    os._exit(0 if facts["status"] == COMPLETED else 1)


def _write(facts: Dict[str, Any], descriptor: int) -> None:
    write_all(descriptor, (json.dumps(facts, separators=(",", ":")) + "\n").encode())


def _start_again(found: Dict[str, Any], environment: Dict[str, str]) -> None:
    """Replace this process by the same task, with the search result and the initial environment. Do not return."""
    with tempfile.TemporaryFile("w", encoding="utf-8") as file:
        json.dump(found, file)
        file.flush()
        file.seek(0)
        os.set_inheritable(file.fileno(), True)
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(sys.executable, [sys.executable, *sys.argv, "--found-fd", str(file.fileno())], environment)
