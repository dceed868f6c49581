"""Measuring the blocks of a search on this machine: runs are added to its sweep one by one, and what has a record is
not measured again, so that a search that was interrupted goes on where it was."""

from __future__ import annotations

import datetime
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from hpcbench.config.experiment import Measure
from hpcbench.core import status
from hpcbench.core.record import Record
from hpcbench.errors import UserError
from hpcbench.plan.case import Case
from hpcbench.status.progress import PLANNED, RunProgress
from hpcbench.status.query import query
from hpcbench.status.reconcile import LOST, SETUP
from hpcbench.status.run_local import run_repetition
from hpcbench.store.records import ending, is_disturbed
from hpcbench.store.sweep import Sweep, add_run, planned
from hpcbench.tuning.ask_tell import Block, Outcome
from hpcbench.tuning.fidelity import Stage
from hpcbench.tuning.objective import Objective
from hpcbench.util.locking.lease import Lease

Told = Callable[[Case, Stage, Record], None]


class Runs:
    """The runs of a search: those that were added before, by case and repetition, and new ones."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        runs = query(sweep).runs
        self._known = {(run.planned.case_id, run.planned.repetition): run for run in runs}
        self._elements = Counter(run.job for run in runs)
        self._asked: Counter[str] = Counter()

    @property
    def kept(self) -> int:
        """How many have been measured before."""
        return sum(run.record is not None and not _says_nothing(run.record) for run in self._known.values())

    def another(self, case: Case, measure: Measure) -> RunProgress:
        """The next repetition of a case that is measured so, as it stands; a new one where there is none yet.

        One that was asked for otherwise is passed over: a search that goes on elsewhere may take another way.
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
        job = self._job_of(case)
        run = planned(case, repetition, self._elements.total(), measure.model_dump())
        add_run(self._sweep.paths, job, run)
        self._elements[job] += 1
        return RunProgress(job, self._elements[job] - 1, run, PLANNED)

    def _job_of(self, case: Case) -> str:
        """The job of the case's environment: all else that a search asks for is the same."""
        return next(job for job in self._sweep.job_names if self._sweep.environment(job)[0] == case.environment)


class Measurement(NamedTuple):
    """The record that counts of a repetition, and those of all `attempts` at it: one that others disturbed is measured
    again, which takes its time, too."""

    stage: Stage
    record: Record
    attempts: Sequence[Record]

    @property
    def seconds(self) -> float:
        """What all of it took."""
        return sum(map(_seconds, self.attempts))


@dataclass(frozen=True)
class Bench:
    """Measures settings, given as cases; `told` hears of each new measurement as it ends."""

    sweep: Sweep
    lease: Lease
    measure: Measure
    objective: Objective
    told: Told
    runs: Runs
    _measured: dict[str, list[Measurement]] = field(default_factory=lambda: defaultdict(list))

    def afresh(self) -> Bench:
        """One that counts only what it measures itself."""
        return replace(self, _measured=defaultdict(list))

    def block(self, cases: Sequence[Case], block: Block) -> list[Outcome]:
        """What the settings of a block cost."""
        measured = [(number, self.record(cases[number], block.stage)) for number in block.settings]
        return [Outcome(number, self.objective.cost_of(record)) for number, record in measured]

    def record(self, case: Case, stage: Stage) -> Record:
        """Measure a case once more; the record. Raises UserError where it was ended from outside, or not begun because
        the node was not quiet: to go on would be to drop a setting that nothing speaks against."""
        self.lease.check()
        run = self.runs.another(case, stage.of(self.measure))
        record, attempts = run.record, list(run.attempts)
        is_kept = record is not None and not _says_nothing(record)
        if record is None or not is_kept:
            record, new = run_repetition(self.sweep, run, self.lease.fileno())
            attempts += new
        if _says_nothing(record):
            hint = f"hpcbench resume {self.sweep.paths.name} measures it again, and goes on"
            raise UserError(f"a measurement ended as {ending(record)}", where=case.id, hint=hint)
        self._measured[case.id].append(Measurement(stage, record, attempts))
        if not is_kept:
            self.told(case, stage, record)
        return record

    def costs(self, case: Case) -> list[float]:
        """Of its full measurements that completed."""
        costs = [self.objective.cost_of(each.record) for each in self._measured[case.id] if each.stage is Stage.FULL]
        return [cost for cost in costs if cost is not None]

    def example(self, case: Case) -> Record:
        """A record of it that completed."""
        return self._completed(case)[0]

    def environment(self, case: Case) -> Mapping[str, str]:
        """Variables of a repetition of it that completed; none where none did."""
        completed = self._completed(case)
        return dict(completed[0].environment) if completed else {}

    def failures(self, case: Case) -> list[str]:
        """Of its measurements that say nothing of what it costs: why."""
        return [
            self.objective.why_unknown(each) for each in self._records(case) if self.objective.cost_of(each) is None
        ]

    def _completed(self, case: Case) -> list[Record]:
        return [each for each in self._records(case) if self.objective.cost_of(each) is not None]

    def _records(self, case: Case) -> list[Record]:
        return [each.record for each in self._measured.get(case.id, ())]

    @property
    def seconds(self) -> float:
        """What all measurements took."""
        return sum(map(_seconds, self._attempts))

    @property
    def measurements(self) -> int:
        """How many there were."""
        return len(self._attempts)

    @property
    def disturbed(self) -> int:
        """How many of them somebody else has disturbed."""
        return sum(map(is_disturbed, self._attempts))

    @property
    def _attempts(self) -> list[Record]:
        return [attempt for measured in self._measured.values() for each in measured for attempt in each.attempts]

    def expected_s(self, cases: Sequence[Case]) -> float | None:
        """What a full measurement of each of them takes, all together; of one that has none, what others do. None
        where there is none."""
        known = {case: _full(measured) for case, measured in self._measured.items()}
        every = [seconds for each in known.values() for seconds in each]
        if not every:
            return None
        usual_s = statistics.median(every)
        return sum(statistics.median(known.get(case.id) or [usual_s]) for case in cases)


def _says_nothing(record: Record) -> bool:
    """Whether it says nothing of the setting: it was not begun, its script could not go on or was lost, or it was ended
    from outside."""
    kind = record.error_type
    waited = record.status == status.SKIPPED and kind == status.SKIPPED
    return waited or kind in (SETUP, LOST) or record.status in (status.CANCELLED, status.NODE_FAILURE)


def _full(measured: Sequence[Measurement]) -> list[float]:
    return [each.seconds for each in measured if each.stage is Stage.FULL]


def _seconds(record: Record) -> float:
    started, ended = map(datetime.datetime.fromisoformat, (record.started_at, record.ended_at))
    return (ended - started).total_seconds()
