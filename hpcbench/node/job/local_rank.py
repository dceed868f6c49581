"""A task of a local run as a fork of the driver, if both have the same Python: this saves the start of a Python."""

import os
import shutil
import sys
from typing import List, Optional

from ...core.rank_command import RankTask
from ..launch import commands
from ..launch.local_launcher import Task


def forked(task: RankTask, python: List[str]) -> Optional[Task]:
    """Return the function that a fork of this process runs as the task; None if a Python must be started.

    The first run in an environment also starts a Python, because it lists the packages: this process is isolated (-I)
    and does not see packages in the home directory or on PYTHONPATH.
    """
    if len(python) != 1 or shutil.which(python[0]) != sys.executable or not os.path.exists(task.packages):
        return None
    return lambda: commands.run(task, [*python, *task.words()])
