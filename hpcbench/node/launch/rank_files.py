"""The files that the tasks of a run leave in its scratch folder."""

import os
import time
from typing import NamedTuple, Optional

FOLDER = "run"  # $HPCBENCH_RUN
OPERATORS = "operators.jsonl"  # the rows of an operator profile
TRAJECTORY = "trajectory.npy"  # the weights of the trajectory of a training
EARLY = "is_early"  # field of a worker's result that another one follows, unless the worker is killed
PATIENCE_S = 5.0  # for the other ranks of a run, which may still be measuring
_POLL_S = 0.05


class Files(NamedTuple):
    """The paths of files that a worker writes in addition to its result; None for those that the case does not have."""

    profile: Optional[str] = None  # the operator profile
    trajectory: Optional[str] = None  # the weights of a second training


NO_FILES = Files()


class Output(NamedTuple):
    """The paths of the copies of a task's standard output and standard error."""

    standard: str
    error: str


def output_of(rank: int, scratch: str) -> Output:
    return Output(os.path.join(scratch, "rank-%d.out" % rank), os.path.join(scratch, "rank-%d.err" % rank))


def all_have_ended(scratch: str, tasks: int, timeout_s: float = PATIENCE_S) -> bool:
    """Wait up to `timeout_s` seconds; return whether all ranks of a run have written their files."""
    give_up = time.monotonic() + timeout_s
    while True:
        names = os.listdir(scratch) if os.path.isdir(scratch) else []
        if sum(name.startswith("rank-") and name.endswith(".json") for name in names) >= tasks:
            return True
        if time.monotonic() >= give_up:
            return False
        time.sleep(_POLL_S)
