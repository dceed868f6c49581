"""A job as its script describes it: the paths of its files, and the commands that start the tasks of a run."""

import json
import os
from typing import Any, Dict, List, NamedTuple, Optional

from ...core.run_spec import PlannedRun, read
from .give_up import give_up


class Job(NamedTuple):
    """One Slurm job or array task, or one script on this machine."""

    file: str  # jobs/SWEEP/JOB.jsonl: a planned run in each line
    results: str  # results/SWEEP
    batch: str  # the submission that it belongs to: JOB, or JOB.TOKEN
    log: str  # the file with its output; may be missing
    records: str  # the file to which it appends its records
    python: List[str]  # command that starts the Python of the workload, in its container if it has one
    srun: Optional[List[str]]  # the srun command of one run, empty if the run starts without it; None on this machine
    limit_s: float  # time limit per run
    zipapp: str
    launcher: str = ""  # see RankTask

    @property
    def name(self) -> str:
        """Return the name of the job, JOB of JOB.jsonl."""
        return os.path.splitext(os.path.basename(self.file))[0]

    @property
    def running(self) -> str:
        """Return the folder with one scratch folder for each attempt without a record."""
        return os.path.join(self.results, "running", self.batch)

    @property
    def on_slurm(self) -> bool:
        """Return whether this is a Slurm job."""
        return self.srun is not None

    def planned(self, element: int) -> PlannedRun:
        """Return the planned run in line `element` of the job file, counted from 0. End the job if it is missing."""
        try:
            return read(self.file, element)
        except IndexError:
            give_up("%s has no element %d" % (os.path.basename(self.file), element))

    def sweep(self) -> Dict[str, Any]:
        """Return the description of the sweep. Raise OSError or ValueError if sweep.json cannot be read."""
        with open(os.path.join(os.path.dirname(self.file), "sweep.json"), encoding="utf-8") as file:
            description: Dict[str, Any] = json.load(file)
        return description
