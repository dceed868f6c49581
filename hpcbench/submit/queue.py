"""What Slurm knows of the elements of a sweep: one squeue, and one sacct for what has left the queue."""

from __future__ import annotations

import subprocess
from collections.abc import Collection
from dataclasses import dataclass

from hpcbench.errors import UserError
from hpcbench.submit import states
from hpcbench.submit.journal import expand_elements

TIMEOUT_S = 60
Element = tuple[str, int]  # array job id, index


@dataclass(frozen=True)
class QueueEntry:
    """One element as Slurm sees it."""

    state: str
    reason: str = ""
    nodes: str = ""

    @property
    def ended(self) -> bool:
        return states.outcome_of(self.state) is not None


def ask(elements: Collection[Element]) -> dict[Element, QueueEntry]:
    """The state of those of these elements that Slurm still knows.

    Raises UserError where squeue does not answer: no answer must not be taken for an empty queue.
    """
    if not elements:
        return {}
    wanted = {array_id for array_id, _ in elements}
    listed = _squeue(["--array", "--states=all", "--format=%F|%K|%T|%r|%N"])
    known: dict[Element, QueueEntry] = {}
    for line in listed:
        array_id, index, state, reason, nodes = line.split("|", 4)
        if array_id in wanted and index.isdigit():
            known[array_id, int(index)] = QueueEntry(state, reason, nodes)
    gone = {array_id for array_id, index in elements if (array_id, index) not in known}
    return _accounted(gone) | known


def find_by_name(name: str) -> str | None:
    """The id of the array with this unique job name, in the queue or in the accounting."""
    for line in _squeue(["--states=all", f"--name={name}", "--format=%F"]):
        return line
    for line in _sacct(["--name", name, "--starttime=now-30days", "--format=JobID"]):
        return line.split("_")[0]
    return None


def _accounted(array_ids: set[str]) -> dict[Element, QueueEntry]:
    found: dict[Element, QueueEntry] = {}
    if not array_ids:
        return found
    jobs = ",".join(sorted(array_ids))
    for line in _sacct([f"--jobs={jobs}", "--format=JobID,State,NodeList"]):
        job_id, state, nodes = line.split("|", 2)
        array_id, _, indices = job_id.partition("_")
        for index in _indices(indices):
            found[array_id, index] = QueueEntry(state, "", nodes)
    return found


def _indices(text: str) -> tuple[int, ...]:
    """`7`, or the pending rest of an array as `[8-99%4]`; nothing for a job that is no array."""
    bare = text.strip("[]").partition("%")[0]
    try:
        return expand_elements(bare)
    except ValueError:
        return ()


def _squeue(arguments: list[str]) -> list[str]:
    return _lines(["squeue", "--noheader", "--me", *arguments])


def _sacct(arguments: list[str]) -> list[str]:
    """Many sites have no accounting: there sacct has nothing to say, and the records on disk must do."""
    try:
        return _lines(["sacct", "--allocations", "--noheader", "--parsable2", *arguments])
    except UserError:
        return []


def _lines(command: list[str]) -> list[str]:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    except FileNotFoundError as error:
        raise UserError(f"{command[0]} was not found", hint="run this where the Slurm commands are") from error
    except subprocess.TimeoutExpired as error:
        raise UserError(f"{command[0]} gave no answer in {TIMEOUT_S} s", hint="is slurmctld up? try again") from error
    except subprocess.CalledProcessError as error:
        raise UserError(f"{command[0]} failed: {error.stderr.strip()}") from error
    return [line for line in done.stdout.splitlines() if line.strip()]
