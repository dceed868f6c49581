"""The jobs of a sweep in squeue: by ID, or by user and name if hpcbench did not submit them.

Jobs that squeue lists are in the queue. Others may have ended or be hidden: status/evidence.py decides.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hpcbench.slurm import states
from hpcbench.slurm.client import NoAnswerError, failure, quoted, run
from hpcbench.slurm.job_entry import Element, JobEntry, time_of

if TYPE_CHECKING:
    from hpcbench.store.journal import Journal
    from hpcbench.store.sweep import Sweep

FOLLOW_ON = "follow-on"  # the batch of the continuation job, which submits the rest
SEARCH = "search"  # the batch of the job that runs a search
COMPLETING = "COMPLETING"  # its processes have ended
UNKNOWN_ID = "Invalid job id specified"  # slurmctld has no job of this ID
INVALID_USER = "Invalid user"  # the UID has no name on this machine
IDS_AT_ONCE = 1000  # in one squeue
# Every job, also in hidden partitions and ended ones, with a line for each element of an array.
_SQUEUE = ("squeue", "--noheader", "--all", "--array", "--states=all")
_FIELDS = "%F|%K|%T|%U|%S|%e|%N|%r|%j|%o"


@dataclass(frozen=True)
class Queue:
    """The jobs of a sweep that squeue lists. If `complaint` is not empty, it is squeue's error: jobs may be missing."""

    entries: Mapping[Element, JobEntry] = field(default_factory=dict)
    bare: tuple[tuple[str, str], ...] = ()  # job and array ID of each bare sbatch by the user
    follow_on: Mapping[str, str] = field(default_factory=dict)  # continuation jobs; the reason if one never starts
    complaint: str = ""

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


@dataclass(frozen=True)
class _Line:
    """A line of squeue."""

    array_id: str
    index: str
    name: str
    command: str
    entry: JobEntry

    @classmethod
    def parse(cls, line: str) -> _Line | None:
        """Return the parsed line, or None for a line that squeue did not print, e.g. a greeting of the site."""
        fields = line.split("|", 9)
        if len(fields) != 10 or not fields[0].isdecimal():
            return None
        array_id, index, state, uid, start, end, nodes, reason, name, command = fields
        entry = JobEntry(
            state,
            reason,
            nodes,
            uid=int(uid) if uid.isdecimal() else None,
            started=time_of(start) is not None and bool(nodes),
            ended_at=time_of(end) if states.outcome_of(state) else None,  # the end of a running job is its time limit
        )
        return cls(array_id, index, name, command, entry)


def query(sweep: Sweep, journal: Journal, ids: Iterable[str] | None = None, jobs: Sequence[str] | None = None) -> Queue:
    """Return the jobs of a sweep in the queue: those that hpcbench submitted by ID, others by user and name.

    `ids` are array IDs, by default all in the journal; `jobs` are names of jobs of the sweep, by default all.
    Raise NoAnswerError if squeue fails: a failure is not an empty queue.
    """
    names = (*sweep.job_names, FOLLOW_ON) if jobs is None else jobs
    accepted = {batch.slurm_id for batch in journal.accepted if batch.slurm_id is not None and batch.job in {*names}}
    others = _of_users(sweep, journal, names)
    arrays = by_id(sorted(accepted if ids is None else {*ids}, key=int), sweep.other_cluster)
    complaint = "; ".join(filter(None, dict.fromkeys([arrays.complaint, others.complaint])))
    return replace(others, entries={**others.entries, **arrays.entries}, complaint=complaint)


def by_id(ids: Sequence[str], cluster: str | None) -> Queue:
    """Return the elements of these arrays. Raise NoAnswerError if squeue fails."""
    entries: dict[Element, JobEntry] = {}
    complaints: dict[str, None] = {}
    for start in range(0, len(ids), IDS_AT_ONCE):
        lines, complaint = _squeue([f"--jobs={','.join(ids[start : start + IDS_AT_ONCE])}"], cluster)
        complaints[complaint] = None
        arrays = [line for line in lines if line.index.isdecimal() and line.array_id in ids]
        entries.update(((line.array_id, int(line.index)), line.entry) for line in arrays)
    return Queue(entries, complaint="; ".join(filter(None, complaints)))


def find_by_name(name: str, uid: int, cluster: str | None) -> str | None:
    """Return the ID of the array with this unique job name in the queue, or None.

    Raise NoAnswerError if squeue fails, or does not list everything.
    """
    lines, complaint = _squeue_of_users({uid}, [name], cluster)
    found = next((line.array_id for line in lines if line.name == name), None)
    if found is None and complaint:
        raise NoAnswerError(complaint)
    return found


def _of_users(sweep: Sweep, journal: Journal, jobs: Sequence[str]) -> Queue:
    """Return the jobs of a sweep whose IDs the journal does not have, by their names or scripts.

    A job of a bare sbatch has the name of its script, or was renamed and has the path of its script.
    """
    known = {batch.slurm_id for batch in journal.accepted}
    scripts = {str(sweep.paths.script(job)): job for job in jobs}
    names = {f"{sweep.paths.name}.{job}": job for job in jobs}
    unconfirmed = {batch.slurm_name: batch.job for batch in journal.accepted if batch.slurm_id is None}
    uids = {os.getuid(), *(batch.uid for batch in journal.accepted)}
    lines, complaint = _squeue_of_users(uids, [*names, *unconfirmed], sweep.other_cluster)
    entries: dict[Element, JobEntry] = {}
    bare: dict[tuple[str, str], None] = {}
    follow_on: dict[str, str] = {}
    for line in lines:
        job = names.get(line.name) or unconfirmed.get(line.name) or scripts.get(line.command) or ""
        if job not in jobs or line.array_id in known:
            continue
        if job == FOLLOW_ON:
            if not line.entry.ended and line.entry.state != COMPLETING:
                reason = line.entry.reason
                follow_on[line.array_id] = states.in_words(reason) if states.never_starts(reason) else ""
        elif line.index.isdecimal():
            entries[line.array_id, int(line.index)] = line.entry
            if line.name not in unconfirmed:
                bare[job, line.array_id] = None
    return Queue(entries, tuple(bare), follow_on, complaint)


def _squeue_of_users(uids: set[int], names: Sequence[str], cluster: str | None) -> tuple[list[_Line], str]:
    """Return the jobs of these users, and the complaint of squeue.

    squeue rejects a UID that has no name. In this case, query the jobs of all users by `names`.
    """
    lines, complaint = _squeue([f"--user={','.join(map(str, sorted(uids)))}"], cluster)
    if INVALID_USER in complaint:
        lines, complaint = _squeue([f"--name={','.join(names)}"], cluster)
    return [line for line in lines if line.entry.uid in uids], complaint


def _squeue(chosen: list[str], cluster: str | None) -> tuple[list[_Line], str]:
    """Return the lines of squeue, and its complaint: an error after which jobs may be missing among the lines.

    An unknown job ID is not a complaint. Raise NoAnswerError if squeue fails.
    """
    reply = run([*_SQUEUE, *chosen, f"--format={_FIELDS}"], cluster)
    errors = [line for line in reply.errors if UNKNOWN_ID not in line]
    is_explained = len(errors) < len(reply.errors) or any(INVALID_USER in line for line in errors)
    if reply.status and not is_explained:
        raise failure("squeue", reply)
    lines = [line for line in map(_Line.parse, reply.lines) if line is not None]
    return lines, f"squeue printed: {quoted(errors)}" if errors else ""
