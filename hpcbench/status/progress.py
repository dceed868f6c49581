"""The state of each run of a sweep, and which runs are left to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from hpcbench.core import oom_pruning, status
from hpcbench.core.retry_rule import is_tried_again
from hpcbench.slurm import states
from hpcbench.store.records import array_of, is_disturbed

if TYPE_CHECKING:
    from hpcbench.config.retry import Retry
    from hpcbench.core.record import Record
    from hpcbench.core.run_spec import PlannedRun
    from hpcbench.store.sweep import Sweep

PLANNED = "planned"  # not submitted yet, or its job ended before its turn
UNKNOWN = "unknown"  # submitted, and Slurm was not asked or did not answer
ACTIVE = (states.PENDING, states.RUNNING)


@dataclass(frozen=True)
class RunProgress:
    """One run and its state: planned, pending, running, unknown, or how it ended."""

    job: str
    element: int
    planned: PlannedRun
    state: str
    slurm_id: str | None = None
    index: int | None = None  # in that array
    reason: str = ""
    nodes: str = ""
    record: Record | None = None
    attempts: tuple[Record, ...] = ()  # all, the oldest first
    in_queue: bool = False  # Slurm has it, and it has not ended
    is_concluded: bool = False  # its job left no record: this one was made from what it left, and is not saved yet

    @property
    def is_disturbed(self) -> bool:
        """Whether the record that counts is of an attempt that others disturbed."""
        return self.record is not None and is_disturbed(self.record)

    @property
    def is_too_large(self) -> bool:
        """Whether it was skipped because a smaller case had run out of memory."""
        kind = self.record.error_type if self.record else None
        return self.state == status.SKIPPED and kind == status.TOO_LARGE

    @property
    def ended(self) -> bool:
        """Whether it has an outcome."""
        return self.record is not None

    @property
    def attempts_of_job(self) -> int:
        """How many attempts the job made that left the record that counts."""
        return sum(array_of(attempt) == self.slurm_id for attempt in self.attempts)

    def is_missing(self, retry: Retry) -> bool:
        """Return whether it has no outcome yet, or its attempts, of all jobs, allow another one."""
        if self.record is None or self.record.error_type == status.JOB_TIME:
            return True
        return is_tried_again(self.attempts, int(self.planned.measure["retries"]), retry.on, retry.max)


@dataclass(frozen=True)
class Progress:
    """The runs of a sweep, in the order of the plan, and what to warn of."""

    sweep: Sweep
    runs: tuple[RunProgress, ...]
    warnings: tuple[str, ...]
    follow_on: Mapping[str, str] = field(default_factory=dict)  # as queue.Queue has it

    @property
    def follows_on(self) -> bool:
        """Whether a continuation job will start, which submits the remaining jobs."""
        return any(not why for why in self.follow_on.values())

    def case_counts(self) -> dict[str, int]:
        """Return the number of cases by state: completed, or the state of the first run that is not completed."""
        cases: dict[str, str] = {}
        for run in sorted(self.runs, key=lambda run: run.planned.repetition):
            if cases.get(run.planned.case_id, status.COMPLETED) == status.COMPLETED:
                cases[run.planned.case_id] = run.state
        return _ordered(Counter(cases.values()))

    def counts(self) -> dict[str, int]:
        """Return the number of runs by state, in the order in which a run goes through them."""
        return _ordered(Counter(run.state for run in self.runs))

    def to_do(self, *, disturbed: bool = False) -> list[RunProgress]:
        """Return the runs that `resume` starts: those that did not complete, and are not in the queue or running.

        With `disturbed`, also those that completed and were disturbed in each attempt.
        """
        done = (UNKNOWN, *ACTIVE, *status.FINAL)
        waits = [run for run in self.runs if not run.in_queue]
        left = [run for run in waits if run.state not in done or (disturbed and run.is_disturbed)]
        return [run for run in left if (run.job, run.element) not in self.still_too_large]

    def missing(self) -> list[RunProgress]:
        """Return the runs that a continuation job starts: without an outcome, or with one that the experiment retries.

        A failure is not retried more often than the experiment says.
        """
        retry = self.sweep.retry
        return [run for run in self.to_do() if run.is_missing(retry)]

    @cached_property
    def still_too_large(self) -> frozenset[tuple[str, int]]:
        """Job and element of the runs that were skipped since a smaller case ran out of memory, and would be again."""
        known: dict[str, list[oom_pruning.Note]] = {}
        found = set()
        for run in self.runs:
            if run.planned.monotone is None or not run.is_too_large:
                continue
            group = run.planned.monotone["group"]
            if group not in known:
                known[group] = oom_pruning.notes(run.planned, str(self.sweep.paths.results))
            if oom_pruning.too_large(run.planned, known[group]):
                found.add((run.job, run.element))
        return frozenset(found)


def _ordered(counted: Counter[str]) -> dict[str, int]:
    order = (PLANNED, *ACTIVE, UNKNOWN, *status.STATUSES)
    return {state: counted[state] for state in order if counted[state]}
