"""The command of the zipapp that runs one task of a run."""

import os
import sys
from typing import List

from ...core.files import make_folder
from ...core.rank_command import RankTask
from ...core.run_spec import read
from ...core.status import SIGNALLED
from ..clocks import leftovers
from . import instances
from .rank_files import OPERATORS, TRAJECTORY
from .ranks import from_environment
from .supervisor import supervise

USAGE = "usage: node.pyz rank JOB_FILE ELEMENT --scratch FOLDER [--packages FILE] [--limit SECONDS]"


def rank(words: List[str]) -> int:
    """Run one task, or the instances that replace it; return its exit status, 128 + N after signal N.

    `words` are the command without its Python, as RankTask gives them.
    """
    try:
        task = RankTask.parse(words)
    except (ValueError, KeyError):
        sys.exit(USAGE)
    return run(task, [sys.executable, *words])


def run(task: RankTask, words: List[str]) -> int:
    """Run one task in this process, or its instances by the command `words`; return the exit status."""
    make_folder(task.scratch)
    planned = read(task.job_file, task.element)
    ranks = from_environment(os.environ)
    instances.bind(planned, os.environ)
    if ranks.size < planned.instances:
        return instances.start(planned, words)
    worker = [sys.executable, task.zipapp, "work", task.job_file, str(task.element)]
    if planned.measure.get("profile"):
        worker += ["--profile", os.path.abspath(os.path.join(task.scratch, OPERATORS))]
    if planned.measure.get("trajectory"):
        worker += ["--trajectory", os.path.abspath(os.path.join(task.scratch, TRAJECTORY))]
    workspace = os.path.abspath(os.path.join(task.job_file, "..", "..", ".."))  # contains jobs/SWEEP/JOB.jsonl
    warnings = leftovers.restore_left(leftovers.folder_of(workspace))
    status = supervise(planned, ranks, worker, workspace, task, warnings)
    if task.packages and ranks.rank == 0 and status < SIGNALLED:
        _describe_packages(task.packages, task.scratch, planned.ranks)
    return status


def _describe_packages(path: str, scratch: str, ranks: int) -> None:
    """Write the installed packages, as seen inside any container, unless an earlier run has."""
    if os.path.exists(path):
        return
    from ...core import files, packages
    from ..host import hostname
    from . import rank_files

    if rank_files.all_have_ended(scratch, ranks):
        files.keep_once(path, lambda: {"told_by": hostname.name(os.environ), **packages.installed()})
