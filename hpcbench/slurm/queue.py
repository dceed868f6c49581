"""What Slurm knows of the elements of a sweep: one squeue, and one sacct for what has left the queue."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from hpcbench.core import ranges, status
from hpcbench.errors import UserError
from hpcbench.slurm import reasons, states
from hpcbench.slurm.client import answer, sacct
from hpcbench.store.journal import Journal

OVERTIME_S = 600  # that a job may take beyond its limit: KillWait and OverTimeLimit of slurm.conf(5), roughly
FOLLOW_ON = "follow-on"  # the batch of the small job that submits what is left
SEARCH = "search"  # the batch of the job in which a search runs
COMPLETING = "COMPLETING"  # its processes have ended
NO_NODES = "None assigned"
Element = tuple[str, int]  # array job id, index


@dataclass(frozen=True)
class QueueEntry:
    """One element of an array as Slurm sees it."""

    state: str
    ended: bool
    reason: str = ""
    nodes: str = ""
    exit_code: str = ""  # as sacct has it, CODE:SIGNAL

    @property
    def in_words(self) -> str:
        """Its state; while it is pending, with the reason."""
        state = self.state.lower()
        why = states.in_words(self.reason) if states.phase_of(self.state) == states.PENDING else ""
        return f"{state}: {why}" if why else state

    @property
    def waits_for_ever(self) -> bool:
        """Whether it does not start until somebody does something."""
        return states.phase_of(self.state) == states.PENDING and states.never_starts(self.reason)

    @property
    def could_not_log(self) -> bool:
        """Whether slurmd may have failed to open the output of the job: it says so by a signal that is none, or by the
        reason, which is that of a script that was killed, too."""
        return self.exit_code == "0:53" or self.reason == "JobLaunchFailure"

    @property
    def never_started(self) -> bool:
        """Whether Slurm itself gave up a job that had not started. One that was held, somebody has cancelled."""
        if states.outcome_of(self.state) not in (status.CANCELLED, status.FAILED) or " by " in self.state:
            return False
        name = reasons.code(self.reason)
        return name == "Dependency" or (states.never_starts(name) and not name.startswith("JobHeld"))


# Of an element that somebody cancels while it is pending, Slurm keeps nothing, but of its array it does.
CANCELLED_WHILE_PENDING = QueueEntry("CANCELLED", ended=True)


@dataclass(frozen=True)
class Queue:
    """What squeue tells of a sweep."""

    entries: Mapping[Element, QueueEntry]
    bare: tuple[tuple[str, str], ...]  # job and array id of what was submitted by a bare sbatch
    follow_on: Mapping[str, str] = field(default_factory=dict)  # jobs that submit what is left; why some never start

    def is_active(self, element: Element) -> bool:
        """Whether an element is in the queue and has not ended."""
        return element in self.entries and not self.entries[element].ended

    def last_of_largest_array(self, count: int) -> list[Element]:
        """So many of the elements that start last in the array with most that run or will start."""
        going: dict[str, list[int]] = {}
        for element in self.entries:
            if self.is_active(element) and not states.never_starts(self.entries[element].reason):
                going.setdefault(element[0], []).append(element[1])
        if not going:
            return []
        array, indices = max(going.items(), key=lambda item: len(item[1]))
        return [(array, index) for index in sorted(indices)[-count:]]


def ask(sweep: str, jobs: list[str], journal: Journal) -> Queue:
    """The elements of a sweep's arrays that Slurm's controller knows: one squeue, whatever the number of arrays.

    A job of a bare sbatch has the script's own name. Raises UserError where squeue does not answer: no answer must not
    be taken for an empty queue.
    """
    names = [*(f"{sweep}.{job}" for job in (*jobs, FOLLOW_ON)), *(batch.slurm_name for batch in journal.accepted)]
    users = {os.getuid(), *(batch.uid for batch in journal.accepted)}
    entries: dict[Element, QueueEntry] = {}
    bare: dict[tuple[str, str], None] = {}
    follow_on: dict[str, str] = {}
    chosen = [f"--user={','.join(map(str, sorted(users)))}", f"--name={','.join(names)}"]
    for line in _squeue([*chosen, "--array", "--format=%j|%F|%K|%T|%r|%N"]):
        name, array_id, index, state, reason, nodes = line.split("|", 5)
        batch = name.removeprefix(f"{sweep}.")
        # What squeue lists is in the queue, unless its state is known to be an end.
        ended = states.outcome_of(state) is not None
        if index.isdigit():
            entries[array_id, int(index)] = QueueEntry(state, ended, reason, nodes)
        if batch in jobs and index.isdigit() and not ended:
            bare[batch, array_id] = None
        if batch == FOLLOW_ON and not ended and state != COMPLETING:
            follow_on[array_id] = states.in_words(reason) if states.never_starts(reason) else ""
    return Queue(entries, tuple(bare), follow_on)


def searching(sweep: str, journal: Journal) -> dict[str, QueueEntry]:
    """The jobs of a search that have not ended, by their ids; one that is completing searches no more. Raises UserError
    where squeue does not answer."""
    entries = ask(sweep, [SEARCH], journal).entries
    return {array: entry for (array, _), entry in entries.items() if not entry.ended and entry.state != COMPLETING}


def find_by_name(name: str, uid: int) -> str | None:
    """The id of the array of a user with this unique job name, in the queue or in the accounting.

    The queue is asked once more at the end: a slow accounting gives a late sbatch time to be served.
    """
    queued = [f"--user={uid}", f"--name={name}", "--format=%F"]
    known = ["--allocations", f"--user={uid}", "--name", name, "--starttime=now-30days", "--format=JobID"]
    for look, arguments in ((_squeue, queued), (sacct, known), (_squeue, queued)):
        for line in look(arguments):
            return line.split("_")[0]
    return None


def accounted(elements: Collection[Element]) -> dict[Element, QueueEntry]:
    """What the accounting knows of these elements: one sacct. Raises UserError where it does not answer."""
    found: dict[Element, QueueEntry] = {}
    if not elements:
        return found
    jobs = ",".join(sorted({array_id for array_id, _ in elements}))
    fields = "JobID,State,ExitCode,ElapsedRaw,TimelimitRaw,Reason,NodeList"
    for line in sacct(["--allocations", f"--jobs={jobs}", f"--format={fields}"]):
        job_id, state, exit_code, elapsed_s, limit_minutes, reason, nodes = line.split("|", 6)
        array_id, underscore, indices = job_id.partition("_")
        whole = (index for array, index in elements if array == array_id)  # none of it has ever started
        for index in _indices(indices) if underscore else whole:
            # It has left the queue: a state that nobody heard of is an end, too.
            ended = not states.is_active(state) or _is_over(elapsed_s, limit_minutes)
            found[array_id, index] = QueueEntry(state, ended, reason, "" if nodes == NO_NODES else nodes, exit_code)
    return found


def _is_over(elapsed_s: str, limit_minutes: str) -> bool:
    """Whether a job would have run for longer than it may: one that Slurm lost counts as running for ever."""
    known = elapsed_s.isdecimal() and limit_minutes.isdecimal()
    return known and int(elapsed_s) > 60 * int(limit_minutes) + OVERTIME_S


def _indices(text: str) -> tuple[int, ...]:
    """`7`, or the pending rest of an array as `[8-99%4]`; nothing for a job that is no array."""
    bare = text.strip("[]").partition("%")[0]
    try:
        return ranges.expand(bare)
    except ValueError:
        return ()


def _squeue(arguments: list[str]) -> list[str]:
    try:
        return answer(["squeue", "--noheader", "--states=all", *arguments])
    except UserError as error:
        if "Invalid job id" in error.what:  # of a single job that Slurm has forgotten
            return []
        raise
