"""Where each repetition of a sweep stands, and what of it is left to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from hpcbench.core import oom_pruning, status
from hpcbench.core.run_spec import PlannedRun
from hpcbench.slurm import states
from hpcbench.store.records import Record, array_of, is_disturbed
from hpcbench.store.sweep import Sweep

PLANNED = "planned"  # not submitted yet, or its job ended before its turn
UNKNOWN = "unknown"  # submitted, and Slurm was not asked or did not answer
ACTIVE = (states.PENDING, states.RUNNING)


@dataclass(frozen=True)
class RunProgress:
    """One repetition and its state: planned, pending, running, unknown, or how it ended."""

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
        """Whether its best record is that of a run that others disturbed."""
        return self.record is not None and is_disturbed(self.record)

    @property
    def is_too_large(self) -> bool:
        """Whether it was skipped because a smaller case had run out of memory."""
        error = self.record["error"] if self.record else None
        return bool(self.state == status.SKIPPED and error and error["type"] == status.TOO_LARGE)

    @property
    def ended(self) -> bool:
        return self.record is not None

    @property
    def attempts_of_job(self) -> int:
        """How often the job that has left the record that counts has measured it."""
        return sum(array_of(attempt) == self.slurm_id for attempt in self.attempts)

    def is_missing(self, retried: Iterable[str], most: int) -> bool:
        """Whether it has no outcome yet, or one that is to be retried by itself, and was not too often."""
        if self.record is None or (self.record["error"] or {}).get("type") == status.JOB_TIME:
            return True
        again = set(retried)
        return self.state in again and sum(attempt["status"] in again for attempt in self.attempts) <= most


@dataclass(frozen=True)
class Progress:
    """All repetitions of a sweep."""

    sweep: Sweep
    runs: tuple[RunProgress, ...]
    warnings: tuple[str, ...]
    follow_on: Mapping[str, str] = field(default_factory=dict)  # as queue.Queue has it

    @property
    def follows_on(self) -> bool:
        """Whether a job will start that submits what is left."""
        return any(not why for why in self.follow_on.values())

    def case_counts(self) -> dict[str, int]:
        """Cases by state: completed when each repetition has, else the state of the first that has not."""
        cases: dict[str, str] = {}
        for run in sorted(self.runs, key=lambda run: run.planned.repetition):
            if cases.get(run.planned.case_id, status.COMPLETED) == status.COMPLETED:
                cases[run.planned.case_id] = run.state
        return _ordered(Counter(cases.values()))

    def counts(self) -> dict[str, int]:
        """Repetitions by state, in the order in which a repetition goes through them."""
        return _ordered(Counter(run.state for run in self.runs))

    def to_do(self, *, disturbed: bool = False) -> list[RunProgress]:
        """What `resume` runs: all that is missing or did not complete, and is not under way; and, if asked, what
        completed and was `disturbed` each time."""
        done = (UNKNOWN, *ACTIVE, *status.FINAL)
        waits = [run for run in self.runs if not run.in_queue]
        left = [run for run in waits if run.state not in done or (disturbed and run.is_disturbed)]
        return [run for run in left if (run.job, run.element) not in self.still_too_large]

    def missing(self) -> list[RunProgress]:
        """What a job that follows on runs: what has no outcome yet, and what the experiment says to retry. No failure
        of a program is run again by itself for ever."""
        retry = self.sweep.retry
        return [run for run in self.to_do() if run.is_missing(retry.on, retry.max)]

    @cached_property
    def still_too_large(self) -> frozenset[tuple[str, int]]:
        """Job and element of what was skipped because a smaller case ran out of memory, and would be again."""
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
