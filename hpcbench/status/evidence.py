"""Conclude when the job of a run has ended, only from evidence about its own ID on its own cluster. Pure.

Absence is not evidence: squeue may hide a partition, print an old answer, or fail; a record may be visible later than
the end of its job. The first row that applies decides. `delay` is `limits.record_delay_s` of the site.

| evidence about an element of an array                              | conclusion                        |
|--------------------------------------------------------------------|-----------------------------------|
| a record of this job, in all cases                                 | ended as recorded                 |
| slurmctld: the ID belongs to another user                          | unknown                           |
| slurmctld: a state of a job in the queue                           | pending or running                |
| another user submitted it, and slurmctld has no such state         | unknown                           |
| slurmctld or sacct: it ended, had not started, and has no files    | ended, as Slurm reports           |
| slurmctld or sacct: COMPLETED, i.e. with records                   | unknown: the record is not visible |
| ... it ended less than `delay` ago, or its files changed since     | unknown                           |
| slurmctld or sacct: it ended                                       | ended, as Slurm reports           |
| slurmctld does not know the ID; sacct fails                        | unknown                           |
| slurmctld does not know the ID; sacct: it runs, within its limit   | unknown                           |
| ... since less than `delay`, or its files changed since            | unknown                           |
| slurmctld does not know the ID                                     | ended, outcome by files and log   |
| none: squeue or scontrol fails, or does not list it                | unknown                           |

Only a run whose job has ended is concluded or submitted again, and only then are its temporary files deleted. A state
that is unknown stays unknown until there is evidence, or until `hpcbench resume --force`.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from typing import Final, Literal

from hpcbench.slurm import states
from hpcbench.slurm.job_entry import JobEntry

ACTIVE: Final = "active"
ENDED: Final = "ended"
UNKNOWN: Final = "unknown"
Kind = Literal["active", "ended", "unknown"]


@dataclass(frozen=True)
class Evidence:
    """The known facts about an array task. Times are in seconds since the epoch."""

    uid: int  # of the user who submitted it
    controlled: JobEntry | None = None  # by slurmctld: squeue or scontrol
    accounted: JobEntry | None = None  # by sacct
    unknown_since: float | None = None  # slurmctld has had no job with this ID since then
    changed_at: float | None = None  # the latest change of a file of its runs
    sacct_failed: bool = False
    words: str = ""  # the command and its output


@dataclass(frozen=True)
class JobState:
    """The conclusion about an element: active, ended, or unknown since a time; `words` gives the reason.

    Without new evidence, an unknown element counts as ended from the time `until` on, unless it is None.
    """

    kind: Kind
    entry: JobEntry | None = None
    since: float | None = None
    words: str = ""
    until: float | None = None

    @property
    def in_words(self) -> str:
        """Return since when the state is unknown, and why."""
        return self.words if self.since is None else f"since {_clock(self.since)}: {self.words}"


def conclude(evidence: Evidence, my_uid: int, now: float, delay_s: float) -> JobState:
    """Return the conclusion at the time `now`, by the table of this module."""
    listed, accounted = evidence.controlled, evidence.accounted
    if accounted is not None and accounted.uid not in (None, evidence.uid):  # the ID was of another job, long ago
        evidence, accounted = replace(evidence, accounted=None), None
    if listed is not None and listed.uid not in (None, evidence.uid):
        return _unknown(evidence, now, "Slurm reports a job of another user under this ID")
    if listed is not None and not listed.ended:
        return JobState(ACTIVE, listed)
    if evidence.uid != my_uid:
        return _unknown(evidence, now, "only the user who submitted the job can determine its outcome")
    ended = next((entry for entry in (listed, accounted) if entry is not None and entry.ended), None)
    if ended is not None:
        return _ended(evidence, ended, now, delay_s)
    if evidence.unknown_since is None:
        return _unknown(evidence, now, "")
    return _not_in_slurm(evidence, evidence.unknown_since, now, delay_s)


def _ended(evidence: Evidence, entry: JobEntry, now: float, delay_s: float) -> JobState:
    """Return the conclusion about a job that Slurm reports as ended."""
    if entry.started is False and evidence.changed_at is None:  # a requeued job has not started again, but has files
        return JobState(ENDED, entry)
    since = max((at for at in (entry.ended_at, evidence.changed_at) if at is not None), default=now)
    if states.is_success(entry.state):
        return JobState(UNKNOWN, entry, since, f"Slurm reports {entry.state}, but its record is not visible here")
    if now - since < delay_s:
        return _awaited(entry, since, since + delay_s, f"Slurm reports {entry.state}")
    return JobState(ENDED, entry, since)


def _not_in_slurm(evidence: Evidence, since: float, now: float, delay_s: float) -> JobState:
    """Return the conclusion about a job whose ID slurmctld does not know."""
    accounted = evidence.accounted
    if evidence.sacct_failed:
        return JobState(UNKNOWN, None, since, evidence.words)
    if accounted is not None and states.phase_of(accounted.state) == states.RUNNING and not accounted.overdue:
        words = f"{evidence.words}; but sacct still reports {accounted.state}"
        return JobState(UNKNOWN, accounted, since, words)
    since = max(since, evidence.changed_at or 0.0)
    if now - since < delay_s:
        return _awaited(None, since, since + delay_s, evidence.words)
    return JobState(ENDED, accounted if accounted is not None and accounted.overdue else None, since)


def _awaited(entry: JobEntry | None, since: float, until: float, words: str) -> JobState:
    return JobState(UNKNOWN, entry, since, f"{words}; a record may become visible until {_clock(until)}", until)


def _unknown(evidence: Evidence, now: float, words: str) -> JobState:
    said = ": ".join(filter(None, [words, evidence.words])) or "squeue does not list the job"
    return JobState(UNKNOWN, None, now, said)


def _clock(at: float) -> str:
    return datetime.datetime.fromtimestamp(at).astimezone().strftime("%H:%M:%S")
