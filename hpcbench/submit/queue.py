"""What Slurm knows of the elements of a sweep: one squeue, and one sacct for what has left the queue."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection
from dataclasses import dataclass

from hpcbench.errors import UserError
from hpcbench.submit import states
from hpcbench.submit.journal import expand_elements

TIMEOUT_S = 60
Element = tuple[str, int]  # array job id, index


class NoAnswerError(UserError):
    """Slurm was asked and gave no answer: it may give one later."""


@dataclass(frozen=True)
class QueueEntry:
    """One element as Slurm sees it."""

    state: str
    ended: bool
    reason: str = ""
    nodes: str = ""


def ask(elements: Collection[Element]) -> dict[Element, QueueEntry]:
    """The state of those of these elements that Slurm still knows.

    Raises UserError where squeue does not answer: no answer must not be taken for an empty queue.
    """
    if not elements:
        return {}
    known: dict[Element, QueueEntry] = {}
    jobs = ",".join(sorted({array_id for array_id, _ in elements}))
    for line in _squeue(["--array", f"--jobs={jobs}", "--format=%F|%K|%T|%r|%N"]):
        array_id, index, state, reason, nodes = line.split("|", 4)
        if index.isdigit() and (array_id, int(index)) in elements:
            # What squeue lists is in the queue, unless its state is known to be an end.
            known[array_id, int(index)] = QueueEntry(state, states.outcome_of(state) is not None, reason, nodes)
    gone = {array_id for array_id, index in elements if (array_id, index) not in known}
    return _accounted(gone) | known


def queued_by_name(sweep: str, jobs: list[str]) -> dict[tuple[str, int], tuple[str, QueueEntry]]:
    """Elements of a sweep's scripts that are in the queue by a bare sbatch: their jobs have the script's own name."""
    names = ",".join(f"{sweep}.{job}" for job in jobs)
    found = {}
    for line in _squeue(["--me", "--array", f"--name={names}", "--format=%j|%F|%K|%T|%r|%N"]):
        name, array_id, index, state, reason, nodes = line.split("|", 5)
        if index.isdigit() and states.outcome_of(state) is None:
            found[name.rpartition(".")[2], int(index)] = (array_id, QueueEntry(state, False, reason, nodes))
    return found


def find_by_name(name: str) -> str | None:
    """The id of the array with this unique job name, in the queue or in the accounting."""
    for line in _squeue(["--me", f"--name={name}", "--format=%F"]):
        return line
    for line in sacct(["--allocations", "--name", name, "--starttime=now-30days", "--format=JobID"]):
        return line.split("_")[0]
    return None


def _accounted(array_ids: set[str]) -> dict[Element, QueueEntry]:
    found: dict[Element, QueueEntry] = {}
    if not array_ids:
        return found
    jobs = ",".join(sorted(array_ids))
    for line in sacct(["--allocations", f"--jobs={jobs}", "--format=JobID,State,NodeList"]):
        job_id, state, nodes = line.split("|", 2)
        array_id, _, indices = job_id.partition("_")
        for index in _indices(indices):
            # It has left the queue: a state that nobody heard of is an end, too.
            found[array_id, index] = QueueEntry(state, not states.is_active(state), "", nodes)
    return found


def _indices(text: str) -> tuple[int, ...]:
    """`7`, or the pending rest of an array as `[8-99%4]`; nothing for a job that is no array."""
    bare = text.strip("[]").partition("%")[0]
    try:
        return expand_elements(bare)
    except ValueError:
        return ()


def _squeue(arguments: list[str]) -> list[str]:
    try:
        return answer(["squeue", "--noheader", "--states=all", *arguments])
    except UserError as error:
        if "Invalid job id" in error.what:  # of a single job that Slurm has forgotten
            return []
        raise


def sacct(arguments: list[str]) -> list[str]:
    """The lines that sacct prints. Many sites have no accounting: the records on disk must do there."""
    try:
        return answer(["sacct", "--noheader", "--parsable2", *arguments])
    except UserError as error:
        if "accounting storage is disabled" in error.what or "was not found" in error.what:
            return []
        raise


def client_environment() -> dict[str, str]:
    """The environment for Slurm's commands, without what would change what they do.

    Variables like SBATCH_PARTITION or SQUEUE_ACCOUNT in a login shell override options and hide jobs; the SLURM_ ones
    of an enclosing job leak into the new one. Where Slurm is, and who we are to it, stays.
    """
    dropped = ("SBATCH_", "SQUEUE_", "SACCT_", "SCANCEL_", "SLURM_")
    kept = ("SLURM_CONF", "SLURM_JWT")
    return {name: value for name, value in os.environ.items() if name in kept or not name.startswith(dropped)}


def answer(command: list[str]) -> list[str]:
    """The lines that a Slurm command prints. Raises UserError, with its own words, where it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True, env=client_environment()
        )
    except FileNotFoundError as error:
        raise UserError(f"{command[0]} was not found", hint="run this where the Slurm commands are") from error
    except subprocess.TimeoutExpired as error:
        raise NoAnswerError(
            f"{command[0]} gave no answer in {TIMEOUT_S} s", hint="is slurmctld up? try again"
        ) from error
    except subprocess.CalledProcessError as error:
        raise NoAnswerError(f"{command[0]} failed: {error.stderr.strip()}") from error
    return [line for line in done.stdout.splitlines() if line.strip()]
