"""The command of the zipapp that runs the workload of one rank."""

import json
import os
import sys
import tempfile
from typing import Any, Dict

from ...core.run_spec import read
from ...core.status import COMPLETED
from ..launch.rank_files import Files
from ..launch.ranks import from_environment
from .worker import needs_thread_search, run, search_threads


def work(arguments: Any) -> int:
    """Run the workload of one rank, and write its result as JSON to a file descriptor. Do not return."""
    planned = read(arguments.job_file, arguments.element)
    ranks, environment = from_environment(os.environ), dict(os.environ)
    files = Files(arguments.profile, arguments.trajectory)
    if arguments.found_fd is not None:
        with os.fdopen(arguments.found_fd, encoding="utf-8") as file:
            facts = run(planned, ranks, json.load(file), files)
    elif needs_thread_search(planned):
        facts = search_threads(planned, ranks)
        if facts["status"] == COMPLETED:
            _start_again(facts["found"], environment)
    else:
        facts = run(planned, ranks, files=files)
    with os.fdopen(arguments.result_fd, "w", encoding="utf-8") as pipe:
        json.dump(facts, pipe, separators=(",", ":"))
    sys.stdout.flush()
    sys.stderr.flush()
    # The result is written. A regular exit would let C++ destructors race with the framework's threads: one in five DDP
    # runs on gloo aborted there, after all its work was done.
    os._exit(0 if facts["status"] == COMPLETED else 1)


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
