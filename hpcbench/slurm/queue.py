"""The state of a sweep's array elements in Slurm: one squeue, and one sacct for elements that have left the queue."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from hpcbench.core import ranges, status
from hpcbench.errors import UserError
from hpcbench.slurm import reasons, states
from hpcbench.slurm.client import fields_of, output_of, sacct, unexpected_line
from hpcbench.store.journal import Journal

OVERTIME_S = 600  # allowed beyond the time limit of a job: about KillWait and OverTimeLimit, slurm.conf(5)
FOLLOW_ON = "follow-on"  # the batch of the continuation job, which submits the rest
SEARCH = "search"  # the batch of the job that runs a search
COMPLETING = "COMPLETING"  # its processes have ended
NO_NODES = "None assigned"
MAX_ARGUMENT = 2**17 - 1  # characters of one word of a command: MAX_ARG_STRLEN in execve(2)
Element = tuple[str, int]  # array job id, index


@dataclass(frozen=True)
class QueueEntry:
    """One element of an array as Slurm reports it."""

    state: str
    ended: bool
    reason: str = ""
    nodes: str = ""
    exit_code: str = ""  # as sacct prints it, CODE:SIGNAL

    @property
    def in_words(self) -> str:
        """Return the state; for a pending element with the reason."""
        state = self.state.lower()
        why = states.in_words(self.reason) if states.phase_of(self.state) == states.PENDING else ""
        return f"{state}: {why}" if why else state

    @property
    def waits_for_ever(self) -> bool:
        """Return whether the element stays pending until a user or an administrator acts."""
        return states.phase_of(self.state) == states.PENDING and states.never_starts(self.reason)

    @property
    def could_not_log(self) -> bool:
        """Return whether slurmd may have failed to open the output file of the job.

        Slurm reports this as exit code 0:53, or as a reason that it also gives for a script that was killed.
        """
        return self.exit_code == "0:53" or self.reason == "JobLaunchFailure"

    @property
    def never_started(self) -> bool:
        """Return whether Slurm itself ended a job that had not started. A held job was cancelled by a user."""
        if states.outcome_of(self.state) not in (status.CANCELLED, status.FAILED) or " by " in self.state:
            return False
        name = reasons.code(self.reason)
        return name == "Dependency" or (states.never_starts(name) and not name.startswith("JobHeld"))


# Slurm keeps no record of an element that is cancelled while it is pending, only of its array.
CANCELLED_WHILE_PENDING = QueueEntry("CANCELLED", ended=True)


@dataclass(frozen=True)
class Queue:
    """The output of squeue for a sweep."""

    entries: Mapping[Element, QueueEntry]
    bare: tuple[tuple[str, str], ...]  # job and array id of each bare sbatch
    follow_on: Mapping[str, str] = field(default_factory=dict)  # continuation jobs; the reason if one never starts

    def is_active(self, element: Element) -> bool:
        """Return whether an element is in the queue and has not ended."""
        return element in self.entries and not self.entries[element].ended

    def last_of_largest_array(self, count: int) -> list[Element]:
        """Return the `count` elements that start last in the array with the most active elements."""
        going: dict[str, list[int]] = {}
        for element in self.entries:
            if self.is_active(element) and not states.never_starts(self.entries[element].reason):
                going.setdefault(element[0], []).append(element[1])
        if not going:
            return []
        array, indices = max(going.items(), key=lambda item: len(item[1]))
        return [(array, index) for index in sorted(indices)[-count:]]


def query(sweep: str, jobs: list[str], journal: Journal) -> Queue:
    """Return the elements of a sweep's arrays that squeue lists, with one call for all arrays.

    A job of a bare sbatch has the name of its script. Raise UserError if squeue fails, because a failure is not an
    empty queue.
    """
    of_scripts = (f"{sweep}.{job}" for job in (*jobs, FOLLOW_ON))
    names = dict.fromkeys([*of_scripts, *(batch.slurm_name for batch in journal.accepted)])
    named = f"--name={','.join(names)}"
    users = {os.getuid(), *(batch.uid for batch in journal.accepted)}
    entries: dict[Element, QueueEntry] = {}
    bare: dict[tuple[str, str], None] = {}
    follow_on: dict[str, str] = {}
    chosen = [f"--user={','.join(map(str, sorted(users)))}", *([named] if len(named) < MAX_ARGUMENT else [])]
    for line in _squeue([*chosen, "--array", "--format=%j|%F|%K|%T|%r|%N"]):
        name, array_id, index, state, reason, nodes = fields_of("squeue", line, 6)
        if name not in names:
            continue
        batch = name.removeprefix(f"{sweep}.")
        # A job that squeue lists is in the queue, unless its state means that it has ended.
        ended = states.outcome_of(state) is not None
        if index.isdigit():
            entries[array_id, int(index)] = QueueEntry(state, ended, reason, nodes)
        if batch in jobs and index.isdigit() and not ended:
            bare[batch, array_id] = None
        if batch == FOLLOW_ON and not ended and state != COMPLETING:
            follow_on[array_id] = states.in_words(reason) if states.never_starts(reason) else ""
    return Queue(entries, tuple(bare), follow_on)


def searching(sweep: str, journal: Journal) -> dict[str, QueueEntry]:
    """Return the active jobs of a search by their ids, without those that are completing.

    Raise UserError if squeue fails.
    """
    entries = query(sweep, [SEARCH], journal).entries
    return {array: entry for (array, _), entry in entries.items() if not entry.ended and entry.state != COMPLETING}


def find_by_name(name: str, uid: int) -> str | None:
    """Return the id of the array with this unique job name in the queue or the accounting, or None.

    The queue is queried again at the end: while the accounting answers, a late sbatch may arrive. Raise UserError if
    Slurm does not answer.
    """
    queued = [f"--user={uid}", f"--name={name}", "--format=%F"]
    known = ["--allocations", f"--user={uid}", "--name", name, "--starttime=now-30days", "--format=JobID"]
    for ask, arguments in ((_squeue, queued), (sacct, known), (_squeue, queued)):
        for line in ask(arguments):
            array_id = line.split("_")[0]
            if not array_id.isdecimal():
                raise unexpected_line("Slurm", line)
            return array_id
    return None


def accounted(elements: Collection[Element]) -> dict[Element, QueueEntry]:
    """Return the state of elements in the accounting, with one sacct. Raise UserError if sacct fails."""
    found: dict[Element, QueueEntry] = {}
    if not elements:
        return found
    jobs = ",".join(sorted({array_id for array_id, _ in elements}))
    fields = "JobID,State,ExitCode,ElapsedRaw,TimelimitRaw,Reason,NodeList"
    for line in sacct(["--allocations", f"--jobs={jobs}", f"--format={fields}"]):
        job_id, state, exit_code, elapsed_s, limit_minutes, reason, nodes = fields_of("sacct", line, 7)
        array_id, underscore, indices = job_id.partition("_")
        whole = (index for array, index in elements if array == array_id)  # no element of the array has started
        for index in _indices(indices) if underscore else whole:
            # It has left the queue: an unknown state means that it has ended, too.
            ended = not states.is_active(state) or _is_over(elapsed_s, limit_minutes)
            found[array_id, index] = QueueEntry(state, ended, reason, "" if nodes == NO_NODES else nodes, exit_code)
    return found


def _is_over(elapsed_s: str, limit_minutes: str) -> bool:
    """Return whether a job has exceeded its time limit: Slurm counts a lost job as running for ever."""
    known = elapsed_s.isdecimal() and limit_minutes.isdecimal()
    return known and int(elapsed_s) > 60 * int(limit_minutes) + OVERTIME_S


def _indices(text: str) -> tuple[int, ...]:
    """Return the indices of `7`, or of the pending rest of an array, `[8-99%4]`; none if the job is not an array."""
    bare = text.strip("[]").partition("%")[0]
    try:
        return ranges.expand(bare)
    except ValueError:
        return ()


def _squeue(arguments: list[str]) -> list[str]:
    try:
        return output_of(["squeue", "--noheader", "--states=all", *arguments])
    except UserError as error:
        if "Invalid job id" in error.what:  # a single job that Slurm has removed
            return []
        raise
