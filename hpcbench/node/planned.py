"""The planned runs of a job: one JSON line for each element of its array, written by the planner, read on the node."""

import json
from typing import Any, Dict, NamedTuple


class PlannedRun(NamedTuple):
    """One repetition of one case, with all that the node needs to know about it."""

    case_id: str
    case_index: int
    repetition: int
    order: int
    parameters: Dict[str, Any]
    tags: Dict[str, Any]
    measure: Dict[str, Any]

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
