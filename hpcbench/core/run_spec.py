"""The planned runs of a job: one JSON line per element of its array. The planner writes them, the node reads them."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, NamedTuple, Optional, Tuple

COMMAND = "command"  # the `framework` of a case that runs a program of the user
SRUN, TORCHRUN, MPIRUN, NO_LAUNCHER = "srun", "torchrun", "mpirun", "none"
LAUNCHERS = (SRUN, TORCHRUN, MPIRUN, NO_LAUNCHER)  # of the processes of a command
MOST_RUNS = 1000  # of a case

Pack = Tuple[int, ...]
"""The elements of a job that one index of its array runs."""


class PlannedRun(NamedTuple):
    """One run of one case, with all that the node needs for it."""

    case_id: str
    case_index: int
    run: int
    order: int
    parameters: Dict[str, Any]
    user_parameters: Dict[str, Any]
    measure: Dict[str, Any]
    size: Optional[Dict[str, Any]] = None  # `group` and `values`: see oom_pruning.py
    is_first: bool = False  # the first run of its workload: see failure_limit.py
    owns_nodes: bool = False  # the job shares its nodes with no other job and no other run

    @property
    def is_command(self) -> bool:
        """Return whether the case is a command of the user, not a framework."""
        return bool(self.parameters["framework"] == COMMAND)

    @property
    def on_gpus(self) -> bool:
        """Return whether the run has GPUs."""
        return int(self.parameters["gpus_per_task"]) > 0

    @property
    def launch(self) -> str:
        """Return what starts the processes of the run, one of LAUNCHERS."""
        return str(self.parameters.get("launch", SRUN))

    @property
    def tasks(self) -> int:
        """Return the number of tasks that the case requests."""
        return int(self.parameters["nodes"]) * int(self.parameters["tasks_per_node"])

    @property
    def supervised(self) -> int:
        """Return the number of processes that hpcbench starts: a launcher of the command starts the tasks itself."""
        return {SRUN: self.tasks, TORCHRUN: int(self.parameters["nodes"])}.get(self.launch, 1)

    @property
    def instances(self) -> int:
        """Return the number of processes that each task starts.

        It is 1 if the task does the work itself, as in older sweeps.
        """
        return int(self.parameters.get("instances", 1))

    @property
    def ranks(self) -> int:
        """Return the number of processes that do the work. Each of them is a rank and writes a file."""
        return self.supervised * self.instances

    def as_line(self) -> str:
        """Return the run as one line of JSON, without a line end."""
        return json.dumps(self._asdict(), separators=(",", ":"))


def parse(line: str) -> PlannedRun:
    """Return the planned run of a line. Raise ValueError if it is not JSON, TypeError if its fields are wrong."""
    return PlannedRun(**json.loads(line))


def read(job_file: str, element: int) -> PlannedRun:
    """Return line `element`, counted from 0, of a job file. Raise IndexError if the job has no such element."""
    with open(job_file, encoding="utf-8") as file:
        for number, line in enumerate(file):
            if number == element:
                return parse(line)
    raise IndexError("%s has no element %d" % (job_file, element))


JOB_NAME = re.compile(r"[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*\Z")  # also names of batches: JOB or JOB.TOKEN


SHELL = ["bash", "-e", "-o", "pipefail", "-c"]


SLURM_CONFIGURATIONS = "slurm"  # the folder of Slurm's configurations, next to those of the nodes
OUTPUT = "output"  # the folder of the kept output of commands, next to that of the records
