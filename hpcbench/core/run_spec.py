"""The planned runs of a job: one JSON line for each element of its array, written by the planner, read on the node."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, NamedTuple, Optional

COMMAND = "command"  # the `framework` of a case that is any program


class PlannedRun(NamedTuple):
    """One repetition of one case, with all that the node needs to know about it."""

    case_id: str
    case_index: int
    repetition: int
    order: int
    parameters: Dict[str, Any]
    tags: Dict[str, Any]
    measure: Dict[str, Any]
    monotone: Optional[Dict[str, Any]] = None  # `group` and `values`: see monotone.py

    @property
    def is_command(self) -> bool:
        return bool(self.parameters["framework"] == COMMAND)

    @property
    def on_gpus(self) -> bool:
        """Whether it was given any: what they tell is of it then."""
        return int(self.parameters["gpus_per_task"]) > 0

    @property
    def tasks(self) -> int:
        """Processes that the launcher starts."""
        return int(self.parameters["nodes"]) * int(self.parameters["tasks_per_node"])

    @property
    def instances(self) -> int:
        """Processes that each of them starts in its place; 1 where it does the work itself, as in all older sweeps."""
        return int(self.parameters.get("instances", 1))

    @property
    def ranks(self) -> int:
        """Processes that do the work: each of them is a rank, and leaves a file."""
        return self.tasks * self.instances

    def as_line(self) -> str:
        return json.dumps(self._asdict(), separators=(",", ":"))


def parse(line: str) -> PlannedRun:
    return PlannedRun(**json.loads(line))


def read(job_file: str, element: int) -> PlannedRun:
    """Line `element` of a job file. Raises IndexError where the job has no such element."""
    with open(job_file, encoding="utf-8") as file:
        for number, line in enumerate(file):
            if number == element:
                return parse(line)
    raise IndexError("%s has no element %d" % (job_file, element))


JOB_NAME = re.compile(r"[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*\Z")  # and those of batches: JOB, or JOB.TOKEN


SHELL = ["bash", "-e", "-o", "pipefail", "-c"]


SLURM_CONFIGURATIONS = "slurm"  # the folder of Slurm's configurations, beside those of the nodes
