"""A job as its script describes it: where its files are, and how the tasks of a run are started."""

import json
import os
from typing import Any, Dict, List, NamedTuple

from ...core.run_spec import PlannedRun, read
from .give_up import give_up


class Job(NamedTuple):
    """One Slurm job or array task, or one script on this machine. `srun` is empty on this machine."""

    file: str  # jobs/SWEEP/JOB.jsonl: a planned run in each line
    results: str  # results/SWEEP
    batch: str  # the submission that it came from: JOB, or JOB.TOKEN
    log: str  # its own output so far; may be missing
    records: str  # the file that it appends its records to
    python: List[str]  # command that starts the Python of the workload, in its container if it has one
    srun: List[str]  # the words of srun for one run
    limit_s: float  # of wall time, for each run
    zipapp: str

    @property
    def name(self) -> str:
        """The name of the job, JOB of JOB.jsonl."""
        return os.path.splitext(os.path.basename(self.file))[0]

    @property
    def running(self) -> str:
        """The folder that holds a scratch folder for each attempt without a record."""
        return os.path.join(self.results, "running", self.batch)

    @property
    def on_slurm(self) -> bool:
        """Whether srun starts the tasks."""
        return bool(self.srun)

    def planned(self, element: int) -> PlannedRun:
        """Return the planned run in line `element` of the job file, counted from 0."""
        try:
            return read(self.file, element)
        except IndexError:
            give_up("%s has no element %d" % (os.path.basename(self.file), element))

    def sweep(self) -> Dict[str, Any]:
        """Return the description of the sweep. Raises OSError or ValueError if sweep.json cannot be read."""
        with open(os.path.join(os.path.dirname(self.file), "sweep.json"), encoding="utf-8") as file:
            description: Dict[str, Any] = json.load(file)
        return description
