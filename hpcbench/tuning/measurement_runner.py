"""Measure the trials of a search on this machine.

Runs are added to the sweep one by one. A run with a record is not measured again, so that an interrupted search
continues where it ended.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hpcbench.config.experiment import Measure
from hpcbench.core import status
from hpcbench.core.record import Record
from hpcbench.core.status import SETUP
from hpcbench.errors import UserError
from hpcbench.plan.case import Case
from hpcbench.status.progress import PLANNED, RunProgress
from hpcbench.status.query import query
from hpcbench.status.reconcile import LOST
from hpcbench.status.run_local import run_repetition
from hpcbench.store.sweep import Sweep, add_run
from hpcbench.submit.local_executor import LocalExecutor
from hpcbench.tuning.measurements import Measurement, Trial
from hpcbench.util.locking.lease import Lease


class Runs:
    """The runs of a search by case and number: runs from before an interruption, and new ones."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        runs = query(sweep).runs
        self._known = {(run.planned.case_id, run.planned.run): run for run in runs}
        self._elements = Counter(run.job for run in runs)
        self._asked: Counter[str] = Counter()

    @property
    def measured(self) -> int:
        """Return the number of runs that were measured before this search started or resumed."""
        return sum(run.record is not None and not _was_cut_short(run.record) for run in self._known.values())

    def next_run(self, case: Case, measure: Measure) -> RunProgress:
        """Return the next run of a case with these `measure` settings; add it to the sweep if it is missing.

        Skip runs with other settings: after a failure, a resumed search may need other measurements than before.
        """
        while True:
            self._asked[case.id] += 1
            repetition = self._asked[case.id]
            known = self._known.get((case.id, repetition))
            if known is None:
                return self._added(case, repetition, measure)
            if known.planned.measure == measure.model_dump():
                return known

    def _added(self, case: Case, repetition: int, measure: Measure) -> RunProgress:
        # A search has one job for each environment: all cases request the same resources.
        jobs = self._sweep.job_names
        job = next(job for job in jobs if self._sweep.environment(job)[0] == case.environment)
        run = case.planned_run(repetition, self._elements.total(), measure.model_dump())
        add_run(self._sweep.paths, job, run)
        self._elements[job] += 1
        return RunProgress(job, self._elements[job] - 1, run, PLANNED)


@dataclass(frozen=True)
class MeasurementRunner:
    """Measure trials one after another, with the `measure` section of the experiment."""

    sweep: Sweep
    lease: Lease
    executor: LocalExecutor
    settings: Measure
    runs: Runs

    def measure(self, trial: Trial) -> Measurement:
        """Measure a trial, or return its record from before.

        Raise UserError if the run was ended from outside, or not started because the node was not idle: to continue
        would drop a configuration that has not failed.
        """
        self.lease.check()
        run = self.runs.next_run(trial.case, trial.stage.of(self.settings))
        if run.record is not None and not _was_cut_short(run.record):
            return Measurement(trial, run.record, run.attempts, is_new=False)
        record, new = run_repetition(self.sweep, run, self.executor)
        if _was_cut_short(record):
            hint = f"to measure it again and continue: hpcbench resume {self.sweep.paths.name}"
            raise UserError(f"a measurement ended as {record.in_words}", where=trial.case.id, hint=hint)
        return Measurement(trial, record, [*run.attempts, *new])


def _was_cut_short(record: Record) -> bool:
    """Return whether a run is invalid: not started, not continued, lost, or ended from outside."""
    kind = record.error_type
    waited = record.status == status.SKIPPED and kind == status.SKIPPED
    return waited or kind in (SETUP, LOST) or record.status in (status.CANCELLED, status.NODE_FAILURE)
