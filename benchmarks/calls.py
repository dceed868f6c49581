"""How often a program calls Slurm's commands."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path

from measuring import Variables

COMMANDS = ("sbatch", "squeue", "sacct", "scontrol", "sacctmgr", "sinfo")


class Calls:
    """Slurm's commands, each behind a script that notes its name and then is the command itself."""

    def __init__(self, folder: Path, environment: Variables) -> None:
        self._notes = folder / "calls"
        programs = folder / "counted"
        programs.mkdir()
        for name in COMMANDS:
            real = shutil.which(name, path=environment["PATH"])
            if real:
                script = programs / name
                script.write_text(f'#!/bin/sh\necho {name} >>"{self._notes}"\nexec {real} "$@"\n')
                script.chmod(0o755)
        self.environment = {**environment, "PATH": f"{programs}{os.pathsep}{environment['PATH']}"}

    def taken(self) -> Counter[str]:
        """How often each was called since the last time."""
        if not self._notes.exists():
            return Counter()
        names = self._notes.read_text().split()
        self._notes.unlink()
        return Counter(names)
