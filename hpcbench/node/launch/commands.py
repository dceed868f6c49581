"""The command of the zipapp that runs one task of a run."""

import os
import sys
from typing import Any

from ...core.files import make_folder
from ...core.run_spec import read
from ...core.status import SIGNALLED
from . import instances
from .ranks import from_environment
from .supervisor import supervise


def rank(arguments: Any) -> int:
    """Run one task, or the instances in its place; return its exit status, as a shell would say it."""
    make_folder(arguments.scratch)
    planned = read(arguments.job_file, arguments.element)
    ranks = from_environment(os.environ)
    instances.bind(planned, os.environ)
    if ranks.size < planned.instances:
        return instances.start(planned, [sys.executable, *sys.argv])
    worker = [sys.executable, sys.argv[0], "work", arguments.job_file, str(arguments.element)]
    workspace = os.path.abspath(os.path.join(arguments.job_file, "..", "..", ".."))  # of jobs/SWEEP/JOB.jsonl
    status = supervise(planned, ranks, worker, workspace, arguments.scratch, arguments.limit)
    if arguments.packages and ranks.rank == 0 and status < SIGNALLED:
        _describe_packages(arguments.packages, arguments.scratch, planned.ranks)
    return status


def _describe_packages(path: str, scratch: str, ranks: int) -> None:
    """Write what is installed here, if no run has: this process is certainly inside the container, if there is one."""
    if os.path.exists(path):
        return
    from ...core import files, packages
    from ..host import hostname
    from . import rank_files

    if rank_files.all_have_ended(scratch, ranks):
        files.keep_once(path, lambda: {"told_by": hostname.name(os.environ), **packages.installed()})
