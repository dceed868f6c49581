"""The tuner, asked and told by hand: no process, no disk and no terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from hpcbench.analysis.cases.quantities import TIME
from hpcbench.config.experiment import Experiment
from hpcbench.plan.case import Case
from hpcbench.tuning.fidelity import Stage
from hpcbench.tuning.objective import Objective
from hpcbench.tuning.search_space import Context
from hpcbench.tuning.tuner import Event, GridStarted, Measured, ScheduleSearchStarted, Tuner
from tests.tuning.made import case, measured, record

REPETITIONS = 3
CASES = (case(), case(intra_op_threads=1), case(intra_op_threads=2))
TIMES = {None: 0.4, 1: 0.5, 2: 0.2}
PLAN = {"answer": "schedule", "why": None, "schedule": {"schema": 1}, "fixed_threads": 2}


def context(dynamic: Case | None = None) -> Context:
    return Context(CASES, 0, ("intra_op_threads",), dynamic)


def tuned(
    *contexts: Context, time_s: Callable[[Case], float | None], exhaustive: bool = False
) -> tuple[Tuner, list[Event], dict[str, Mapping[str, Any]]]:
    """The tuner at its end, its events, and the schedules that it has saved."""
    saved: dict[str, Mapping[str, Any]] = {}

    def save(name: str, schedule: Mapping[str, Any]) -> str:
        saved[name] = schedule
        return f"schedules/{len(saved)}.json"

    parameters = {"framework": "pytorch", "model": "lstm"}
    experiment = Experiment.model_validate({"name": "e", "parameters": parameters, "measure": {"repetitions": 3}})
    tuner = Tuner(contexts, experiment, Objective(TIME), save, exhaustive=exhaustive)
    events: list[Event] = []
    while (trial := tuner.ask()) is not None:
        assert trial == tuner.ask()  # until it is told
        found = record(time_s(trial.case), case_id=trial.case.id, dynamic=PLAN)
        events += tuner.tell(measured(trial, found))
    return tuner, events, saved


def by_threads(case: Case) -> float | None:
    return TIMES[case.parameters.intra_op_threads] * (0.25 if case.parameters.schedule else 1)


def test_the_best_configuration_is_found_in_each_context() -> None:
    tuner, events, saved = tuned(context(), context(), time_s=by_threads)
    assert [result.answer and result.answer.best.case for result in tuner.results] == [CASES[2].id] * 2
    assert all(isinstance(event, Measured) for event in events)
    assert len(events) == sum(result.measurements for result in tuner.results)
    assert saved == {}


def test_every_measurement_is_an_event_with_its_trial() -> None:
    _, events, _ = tuned(context(), time_s=by_threads)
    trials = [event.measurement.trial for event in events if isinstance(event, Measured)]
    assert {each.case.id for each in trials[:3]} == {case.id for case in CASES}
    assert {each.stage for each in trials[:3]} == {Stage.SHORT}
    assert trials[-1].stage is Stage.FULL


def test_a_schedule_is_searched_after_the_best_configuration_and_saved() -> None:
    tuner, events, saved = tuned(context(case(threads="dynamic")), time_s=by_threads)
    place = events.index(ScheduleSearchStarted())
    assert all(isinstance(event, Measured) for event in (*events[:place], *events[place + 1 :]))
    (result,) = tuner.results
    assert result.measurements == place
    assert result.by_section is not None
    assert result.by_section.certain
    assert (result.by_section.schedule, list(saved.values())) == ("schedules/1.json", [{"schema": 1}])


def test_the_full_grid_comes_last_if_it_is_asked_for() -> None:
    tuner, events, _ = tuned(context(), time_s=by_threads, exhaustive=True)
    place = events.index(GridStarted(len(CASES) * REPETITIONS))
    assert len(events) - place - 1 == len(CASES) * REPETITIONS
    (result,) = tuner.results
    assert result.grid is not None
    assert (result.grid.best.case, result.grid_seconds) == (CASES[2].id, 90.0)


@pytest.mark.parametrize("exhaustive", [False, True])
def test_if_every_configuration_fails_nothing_more_is_measured(exhaustive: bool) -> None:
    tuner, events, _ = tuned(context(case(threads="dynamic")), time_s=lambda _: None, exhaustive=exhaustive)
    (result,) = tuner.results
    assert (result.answer, result.by_section, result.grid) == (None, None, None)
    assert len(events) == len(result.failed) == len(CASES)
