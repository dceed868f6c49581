"""A task of a run on this machine as a fork of the driver: if both have the same Python, none is started."""

import os
import shutil
import sys
from typing import List, Optional

from ...core.rank_command import RankTask
from ..launch import commands
from ..launch.local_launcher import Task


def forked(task: RankTask, python: List[str]) -> Optional[Task]:
    """Return what a fork of this process does as the task; None if another Python must be started.

    The first run of an environment does without: this Python is isolated (-I) from packages that its users have
    elsewhere, and the task describes which are installed.
    """
    if len(python) != 1 or shutil.which(python[0]) != sys.executable or not os.path.exists(task.packages):
        return None
    return lambda: commands.run(task, [*python, *task.words()])
