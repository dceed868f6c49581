"""SbatchMan (https://pypi.org/project/sbatchman), the nearest peer: the same cases, each a job of Slurm."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from measuring import Variables, once

WANTED = "sbatchman==2.0.3"
CONFIGURATIONS = """
virtual:
  scheduler: slurm
  configs:
    - {name: small, nodes: "1", ntasks: "1", cpus_per_task: 1, time: "00:05:00"}
"""
# It makes a job for each value of a variable that it finds in a name.
JOBS = """
variables: {{number: [{numbers}]}}
command: "true"
jobs:
  - {{config: small, tag: "number_{{number}}"}}
"""


class NotInstalledError(Exception):
    """pip could not install it."""


class SbatchMan:
    """A project of SbatchMan in a folder, with a virtual environment of its own."""

    def __init__(self, folder: Path, cluster: Variables) -> None:
        self._venv = folder / "venv"
        self.folder = folder
        self.variables = {**cluster, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config")}
        subprocess.run([sys.executable, "-m", "venv", self._venv], check=True)
        install = [self._venv / "bin" / "pip", "install", "--quiet", WANTED]
        done = subprocess.run(install, env=cluster, capture_output=True, text=True)
        if done.returncode:
            raise NotInstalledError(" ".join(done.stderr.split()[-20:]))

    def command(self, *words: str) -> list[str]:
        return [str(self._venv / "bin" / "sbatchman"), *words]

    def prepare(self, cases: int) -> None:
        """Write what a user would, and set it up."""
        (self.folder / "configurations.yaml").write_text(CONFIGURATIONS)
        (self.folder / "jobs.yaml").write_text(JOBS.format(numbers=", ".join(map(str, range(1, cases + 1)))))
        for words in (["set-cluster-name", "virtual"], ["init"], ["configure", "--file", "configurations.yaml"]):
            once(self.command(*words), self.folder, self.variables)

    @property
    def experiments(self) -> Path:
        """Where it keeps a folder for each job."""
        return self.folder / "SbatchMan" / "experiments"

    def completed(self) -> int:
        """How many of its jobs have that status in its files."""
        files = self.experiments.rglob("metadata.yaml")
        return sum("status: COMPLETED" in file.read_text().splitlines() for file in files)
