"""One element of an array as Slurm reports it, in squeue, scontrol or sacct."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from hpcbench.core import status
from hpcbench.slurm import reasons, states

Element = tuple[str, int]  # array job ID, index


@dataclass(frozen=True)
class JobEntry:
    """The state of an array task as one of Slurm's commands reports it.

    `uid` is the owner of the job; `ended_at` is in seconds since the epoch. `started` and `ended_at` are None if Slurm
    does not report them.
    """

    state: str
    reason: str = ""
    nodes: str = ""
    exit_code: str = ""  # as sacct prints it, CODE:SIGNAL
    uid: int | None = None
    started: bool | None = None
    ended_at: float | None = None
    never: str = ""  # why a pending job will never start, although Slurm's reason suggests that it waits for others
    overdue: bool = False  # beyond its time limit: sacct reports a job that Slurm lost as running forever

    @property
    def ended(self) -> bool:
        """Return whether a job in this state has ended. False for a state that hpcbench does not know."""
        return states.outcome_of(self.state) is not None

    @property
    def in_words(self) -> str:
        """Return the state in lower case, for a pending element followed by the reason."""
        state = self.state.lower()
        return f"{state}: {self.why_pending}" if self.why_pending else state

    @property
    def why_pending(self) -> str:
        """Return why a pending element does not start, as a sentence; an empty text for others."""
        if states.phase_of(self.state) != states.PENDING:
            return ""
        why = states.in_words(self.reason)
        return f"{reasons.WILL_NOT_START}{self.never} ({reasons.code(self.reason)})" if self.never else why

    @property
    def waits_for_ever(self) -> bool:
        """Return whether the element stays pending until a user or an administrator acts."""
        is_pending = states.phase_of(self.state) == states.PENDING
        return is_pending and (bool(self.never) or states.never_starts(self.reason))

    @property
    def could_not_log(self) -> bool:
        """Return whether slurmd may have failed to open the output file of the job.

        Slurm reports this as exit code 0:53, or as reason JobLaunchFailure, also if the script was killed.
        """
        return self.exit_code == "0:53" or self.reason == "JobLaunchFailure"

    @property
    def never_started(self) -> bool:
        """Return whether Slurm itself ended a job that had not started. A held job was cancelled by a user."""
        if states.outcome_of(self.state) not in (status.CANCELLED, status.FAILED) or " by " in self.state:
            return False
        name = reasons.code(self.reason)
        return name == "Dependency" or (states.never_starts(name) and not name.startswith("JobHeld"))


def time_of(text: str) -> float | None:
    """Return a time that Slurm prints, e.g. 2026-03-11T10:15:00, in seconds since the epoch; None for N/A or Unknown.

    Slurm prints the local time of the machine on which its command runs.
    """
    try:
        return datetime.datetime.fromisoformat(text.strip()).timestamp()
    except ValueError:
        return None
