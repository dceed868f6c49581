"""The search of an experiment, with an ask-and-tell interface. Pure: no clock, no disk and no terminal.

Measure the trial that `ask` returns and pass the measurement to `tell`, until `ask` returns None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hpcbench.config.experiment import Experiment
from hpcbench.tuning.ask_tell import Trials
from hpcbench.tuning.conclusion import conclude, with_grid
from hpcbench.tuning.exhaustive import whole_grid
from hpcbench.tuning.measurements import Measurement, Measurements, Steps, Trial
from hpcbench.tuning.objective import Objective
from hpcbench.tuning.paired_comparison import MIN_PAIRS
from hpcbench.tuning.result import TuningResult
from hpcbench.tuning.search import FINALISTS, FINALS, max_pairs, search
from hpcbench.tuning.search_space import Context
from hpcbench.tuning.surrogate import MAX_UNSAMPLED, Space, Surrogate
from hpcbench.tuning.thread_schedule_search import ScheduleSearch

MAX_FRACTION = 0.25  # of the full grid
PAIRS_PER_REPETITION = 2  # in the comparison of a thread plan with the best fixed configuration


@dataclass(frozen=True)
class Measured:
    """A trial of this context was measured."""

    context: Context
    measurement: Measurement


@dataclass(frozen=True)
class ScheduleSearchStarted:
    """The best configuration was found; the search for a per-layer thread plan starts."""


@dataclass(frozen=True)
class GridStarted:
    """The full grid with this number of measurements starts."""

    measurements: int


Event = Measured | ScheduleSearchStarted | GridStarted


class Tuner:
    """Search the contexts of an experiment, one after another.

    `save_schedule` takes a case ID and a per-layer thread plan, and returns the path for `schedule` of a case.
    """

    def __init__(
        self,
        contexts: Sequence[Context],
        experiment: Experiment,
        objective: Objective,
        save_schedule: Callable[[str, Mapping[str, Any]], str],
        *,
        exhaustive: bool = False,
    ) -> None:
        self.results: list[TuningResult] = []
        self._experiment, self._objective = experiment, objective
        self._save_schedule, self._exhaustive = save_schedule, exhaustive
        self._events: list[Event] = []
        self._context = contexts[0]
        self._steps = self._tune_all(contexts)
        self._next: Trial | None = next(self._steps)

    def ask(self) -> Trial | None:
        """Return the next trial to measure; None when `results` are complete."""
        return self._next

    def tell(self, measurement: Measurement) -> list[Event]:
        """Continue with the measurement of the trial that `ask` returned; return the events that follow."""
        self._events = [Measured(self._context, measurement)]
        try:
            self._next = self._steps.send(measurement)
        except StopIteration:
            self._next = None
        return self._events

    def _tune_all(self, contexts: Sequence[Context]) -> Steps[None]:
        for context in contexts:
            self._context = context
            self.results.append((yield from self._tune(context)))

    def _tune(self, context: Context) -> Steps[TuningResult]:
        measure, configurations = self._experiment.measure, range(len(context.cases))
        trials, measurements = Trials(measure.shuffle_seed), Measurements(self._objective)
        surrogate = None
        if len(configurations) > MAX_UNSAMPLED:
            surrogate = Surrogate(Space.of(context.points), measure.shuffle_seed)
        steps = search(trials, configurations, context.default, measure.repetitions, surrogate)
        found = yield from measurements.run(steps, context.cases)
        result = conclude(context, found, measurements, measure.repetitions)
        if found is None:
            return result
        if context.dynamic:
            self._events.append(ScheduleSearchStarted())
            pairs, held_out = PAIRS_PER_REPETITION * measure.repetitions, self._experiment.tune.held_out
            schedules = ScheduleSearch(
                Measurements(self._objective), trials, context.cases, found.best, pairs, self._save_schedule
            )
            result = replace(result, by_section=(yield from schedules.run(context.dynamic, held_out)))
        if not self._exhaustive:
            return result
        self._events.append(GridStarted(len(configurations) * measure.repetitions))
        trials, measurements = Trials(measure.shuffle_seed), Measurements(self._objective)
        yield from measurements.run(whole_grid(trials, configurations, measure.repetitions), context.cases)
        return with_grid(result, context, found.best, trials, measurements)


def max_measurements(contexts: Sequence[Context], repetitions: int, held_out: int, *, exhaustive: bool) -> int:
    """Return the maximum number of measurements in all contexts.

    It includes those of thread plans at `held_out` other shapes and, if `exhaustive`, the full grid.
    """
    grid = repetitions * sum(len(context.cases) for context in contexts)
    searches = sum(_of_search(context, repetitions) for context in contexts)
    schedules = sum(context.dynamic is not None for context in contexts)
    of_schedules = schedules * (1 + (1 + held_out) * 2 * max(MIN_PAIRS, PAIRS_PER_REPETITION * repetitions))
    return searches + exhaustive * grid + of_schedules


def _of_search(context: Context, repetitions: int) -> int:
    """Return the maximum number of measurements of one search: a fraction of the grid, or its stages if these are more.

    The stages are the brief measurements, half as many again for halving, the finals and the paired comparison.
    """
    configurations = len(context.cases)
    briefly = (
        configurations if configurations <= MAX_UNSAMPLED else Surrogate(Space.of(context.points), 0).max_measurements
    )
    stages = briefly * 3 // 2 + FINALISTS * FINALS + 2 * max(MIN_PAIRS, max_pairs(configurations, repetitions))
    return max(stages, math.ceil(MAX_FRACTION * configurations * repetitions))
