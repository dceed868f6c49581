"""The measurements of a search: the next one, and the costs, failures and durations of those so far."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from hpcbench.core.record import Record
from hpcbench.plan.case import Case
from hpcbench.store.records import has_interference, span_s
from hpcbench.tuning.ask_tell import Outcome, Search
from hpcbench.tuning.fidelity import Stage
from hpcbench.tuning.objective import Objective

Result = TypeVar("Result")


class Trial(NamedTuple):
    """One measurement to make."""

    case: Case
    stage: Stage


@dataclass(frozen=True)
class Measurement:
    """A measured trial: the record that counts, and the records of all attempts, including those with interference.

    `is_new` is False if the record is from before the search started or resumed.
    """

    trial: Trial
    record: Record
    attempts: Sequence[Record]
    is_new: bool = True

    @property
    def seconds(self) -> float:
        """Return the wall time of all attempts in seconds."""
        return sum(map(_seconds, self.attempts))


Steps = Generator[Trial, Measurement, Result]


class Measurements:
    """The measurements of a search or of a full grid, by case."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self._by_case: dict[str, list[Measurement]] = defaultdict(list)

    def measure(self, case: Case, stage: Stage) -> Steps[Record]:
        """Request one measurement of a case; return its record."""
        measurement = yield Trial(case, stage)
        self._by_case[case.id].append(measurement)
        return measurement.record

    def run(self, search: Search[Result], cases: Sequence[Case]) -> Steps[Result]:
        """Run a search whose configurations are indices of `cases`; return its result."""
        outcomes: list[Outcome] | None = None
        while True:
            try:
                block = next(search) if outcomes is None else search.send(outcomes)
            except StopIteration as ended:
                result: Result = ended.value
                return result
            outcomes = []
            for number in block.configurations:
                record = yield from self.measure(cases[number], block.stage)
                outcomes.append(Outcome(number, self.objective.cost_of(record)))

    def costs(self, case: Case) -> list[float]:
        """Return the costs of the case's completed measurements of full length."""
        costs = [self.objective.cost_of(each.record) for each in self._by_case[case.id] if _is_full(each)]
        return [cost for cost in costs if cost is not None]

    def with_interference_of(self, case: Case, last: int) -> int:
        """Return how many of the last `last` completed, full-length measurements of a case had interference."""
        full = [each.record for each in self._by_case[case.id] if _is_full(each)]
        known = [record for record in full if self.objective.cost_of(record) is not None]
        return sum(map(has_interference, known[-last:])) if last else 0

    def completed(self, case: Case) -> Record | None:
        """Return the first record of the case that has a cost, or None."""
        return next((record for record in self._records(case) if self.objective.cost_of(record) is not None), None)

    def failures(self, case: Case) -> list[str]:
        """Return the reasons of the case's measurements that have no cost."""
        records = self._records(case)
        return [self.objective.why_unknown(record) for record in records if self.objective.cost_of(record) is None]

    def expected_s(self, cases: Sequence[Case]) -> float | None:
        """Return the expected seconds of one full measurement of each case; None without any full measurement.

        A case without one counts with the median of the others.
        """
        known = {case: [each.seconds for each in found if _is_full(each)] for case, found in self._by_case.items()}
        every = [seconds for each in known.values() for seconds in each]
        if not every:
            return None
        usual_s = statistics.median(every)
        return sum(statistics.median(known.get(case.id) or [usual_s]) for case in cases)

    @property
    def seconds(self) -> float:
        """Return the wall time of all attempts in seconds."""
        return sum(map(_seconds, self._attempts))

    @property
    def count(self) -> int:
        """Return the number of attempts."""
        return len(self._attempts)

    @property
    def with_interference(self) -> int:
        """Return the number of attempts with interference."""
        return sum(map(has_interference, self._attempts))

    @property
    def _attempts(self) -> list[Record]:
        return [attempt for found in self._by_case.values() for each in found for attempt in each.attempts]

    def _records(self, case: Case) -> list[Record]:
        return [each.record for each in self._by_case.get(case.id, ())]


def _is_full(measurement: Measurement) -> bool:
    return measurement.trial.stage is Stage.FULL


def _seconds(record: Record) -> float:
    start_s, end_s = span_s(record)
    return end_s - start_s
