"""The state of each run of a sweep, and the runs that remain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from hpcbench.core import status
from hpcbench.core.start_rules import oom_pruning
from hpcbench.core.start_rules.retry_rule import is_tried_again
from hpcbench.slurm import states
from hpcbench.store.records import array_of, has_interference

if TYPE_CHECKING:
    from hpcbench.config.retry import Retry
    from hpcbench.core.record import Record
    from hpcbench.core.run_spec import PlannedRun
    from hpcbench.store.sweep import Sweep

PLANNED = "planned"  # not submitted yet, or its job ended before its turn
UNKNOWN = "unknown"  # submitted, and Slurm was not queried or did not respond
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
    awaited_until: float | None = None  # its record may become visible until then, in seconds since the epoch
    is_refused: bool = False  # sbatch refused its latest job, and would refuse the same job again
    is_concluded: bool = False  # its job left no record: `record` was concluded from other files and is not saved yet

    @property
    def has_interference(self) -> bool:
        """Return whether the record that counts is of an attempt with interference."""
        return self.record is not None and has_interference(self.record)

    @property
    def is_complete(self) -> bool:
        """Return whether the run has completed, with all metrics of its command."""
        return self.state == status.COMPLETED and not (self.record and self.record.metrics_not_found)

    @property
    def is_too_large(self) -> bool:
        """Return whether the run was skipped because a smaller case had run out of memory."""
        kind = self.record.error_type if self.record else None
        return self.state == status.SKIPPED and kind == status.TOO_LARGE

    @property
    def waits_for_ever(self) -> bool:
        """Return whether the job of the run stays in the queue until a user or an administrator acts."""
        return self.record is None and self.state == status.NEVER_STARTED

    @property
    def ended(self) -> bool:
        """Return whether the run has an outcome."""
        return self.record is not None

    @property
    def attempts_of_job(self) -> int:
        """Return the number of attempts by the job that wrote the record that counts."""
        return sum(array_of(attempt) == self.slurm_id for attempt in self.attempts)

    def is_missing(self, retry: Retry) -> bool:
        """Return whether the run has no outcome yet, or is retried automatically after its attempts by all jobs."""
        if self.record is None or self.record.error_type == status.JOB_TIME:
            return True
        return is_tried_again(self.attempts, int(self.planned.measure["retries"]), retry.on, retry.max)


@dataclass(frozen=True)
class Progress:
    """The runs of a sweep in the order of the plan, and warnings."""

    sweep: Sweep
    runs: tuple[RunProgress, ...]
    warnings: tuple[str, ...]
    follow_on: Mapping[str, str] = field(default_factory=dict)  # as queue.Queue has it
    slurm_responded: bool = True  # otherwise only the records are counted
    complaint: str = ""  # of squeue, if it did not list all jobs

    @property
    def awaited_until(self) -> float | None:
        """Return until when records of runs whose job has ended may become visible; None if there are none."""
        return max((run.awaited_until for run in self.runs if run.awaited_until is not None), default=None)

    @property
    def follows_on(self) -> bool:
        """Return whether a continuation job, which submits the remaining jobs, will start."""
        return any(not why for why in self.follow_on.values())

    @property
    def active_runs(self) -> int:
        """Return the number of runs that Slurm has or may have."""
        return sum(run.in_queue or run.state in (*ACTIVE, UNKNOWN) for run in self.runs)

    def case_counts(self) -> dict[str, int]:
        """Return the number of cases by state: completed, or the state of the first run that is not completed."""
        cases: dict[str, str] = {}
        for run in sorted(self.runs, key=lambda run: run.planned.run):
            if cases.get(run.planned.case_id, status.COMPLETED) == status.COMPLETED:
                cases[run.planned.case_id] = run.state
        return _ordered(Counter(cases.values()))

    def counts(self) -> dict[str, int]:
        """Return the number of runs by state, in the order in which a run passes through them."""
        return _ordered(Counter(run.state for run in self.runs))

    def to_do(self, *, interference: bool = False) -> list[RunProgress]:
        """Return the runs that `resume` starts: those that did not complete, and are not in the queue or running.

        With `interference`, also return those that completed with interference in each attempt.
        """
        done = (UNKNOWN, *ACTIVE, *status.FINAL)
        waits = [run for run in self.runs if not run.in_queue]
        left = [run for run in waits if run.state not in done or (interference and run.has_interference)]
        return [run for run in left if (run.job, run.element) not in self.still_too_large]

    def missing(self) -> list[RunProgress]:
        """Return the runs that a continuation job starts: those without an outcome, and those that it retries."""
        retry = self.sweep.retry
        return [run for run in self.to_do() if run.is_missing(retry)]

    @cached_property
    def still_too_large(self) -> frozenset[tuple[str, int]]:
        """Return job and element of the runs that were skipped as too large, and would be skipped again."""
        known: dict[str, list[oom_pruning.Note]] = {}
        found = set()
        for run in self.runs:
            if run.planned.size is None or not run.is_too_large:
                continue
            group = run.planned.size["group"]
            if group not in known:
                known[group] = oom_pruning.notes(run.planned, str(self.sweep.paths.results))
            if oom_pruning.too_large(run.planned, known[group]):
                found.add((run.job, run.element))
        return frozenset(found)


def _ordered(counted: Counter[str]) -> dict[str, int]:
    order = (PLANNED, *ACTIVE, UNKNOWN, *status.STATUSES)
    return {state: counted[state] for state in order if counted[state]}
