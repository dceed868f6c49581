"""From what a search and the full grid have measured to what to tell of it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, Protocol

from hpcbench.analysis.statistics import LEVEL, Interval, interval_of_values
from hpcbench.plan.case import Case
from hpcbench.tuning.blocks import Notebook
from hpcbench.tuning.effects import Effects
from hpcbench.tuning.finding import Answer, Failure, Finding, Grid, Setting
from hpcbench.tuning.grid import CHOSEN, FOUND, beside_chosen
from hpcbench.tuning.objective import Objective
from hpcbench.tuning.search import Found
from hpcbench.tuning.space import Context
from hpcbench.tuning.stages import Stage
from hpcbench.tuning.usage import usage


class Measurements(Protocol):
    """What is known of the measurements of a search."""

    @property
    def measurements(self) -> int:
        """How many there were."""

    @property
    def disturbed(self) -> int:
        """How many of them somebody else has disturbed."""

    @property
    def seconds(self) -> float:
        """What all of them took."""

    def costs(self, case: Case) -> list[float]:
        """Of its full measurements that completed."""

    def example(self, case: Case) -> Mapping[str, Any]:
        """A record of it that completed."""

    def expected_s(self, case: Case) -> float | None:
        """What a full measurement takes; None where that is not known."""

    def why_failed(self, case: Case) -> str:
        """In words."""


def conclude(
    context: Context,
    found: Found | None,
    failed: Collection[int],
    measured: Measurements,
    objective: Objective,
    repetitions: int,
) -> Finding:
    """What the search has found, before any grid was measured; `failed` are the settings that did not complete."""
    expected = [seconds for seconds in map(measured.expected_s, context.cases) if seconds is not None]
    return Finding(
        title=context.title,
        settings=len(context.cases),
        answer=_answer(context, found, measured, objective) if found else None,
        failed=tuple(_failure(context, context.cases[number], measured) for number in sorted(failed)),
        seconds=measured.seconds,
        measurements=measured.measurements,
        disturbed=measured.disturbed,
        grid_seconds=repetitions * sum(expected) if expected else None,
    )


def _failure(context: Context, case: Case, measured: Measurements) -> Failure:
    return Failure(case.id, context.values(case), measured.why_failed(case))


def _answer(context: Context, found: Found, measured: Measurements, objective: Objective) -> Answer:
    best, default, winner = (context.cases[number] for number in (found.best, context.default, found.winner))
    return Answer(
        best=_setting(context, best, measured, objective),
        default=_setting(context, default, measured, objective),
        winner=_setting(context, winner, measured, objective),
        gain=found.verdict.gain if found.verdict else None,
        certain=found.verdict.certain if found.verdict else False,
        pairs=found.verdict.pairs if found.verdict else 0,
        beats=beaten(found.effects, found.best),
        of=len(found.effects.costs) - 1,
        usage=usage(best, default, measured.example(best)),
    )


def against_grid(
    context: Context, found: Found, notebook: Notebook, measured: Measurements, objective: Objective
) -> Grid:
    """How the setting that was found does among all; notebook and measurements are those of the grid alone."""
    effects, beside = notebook.effects(), beside_chosen(notebook.measured(Stage.FULL), found.best)
    slower = Interval(1.0, None, None)
    if beside:
        more = beside.costs[FOUND] - beside.costs[CHOSEN]
        slower = _around(more, beside.half_width(FOUND, CHOSEN, LEVEL))
    return Grid(
        best=_setting(context, context.cases[effects.order()[0]], measured, objective),
        slower=slower,
        beats=beaten(effects, found.best),
        of=len(effects.costs) - 1,
        seconds=measured.seconds,
    )


def _around(logarithm: float, half: float) -> Interval:
    """A ratio; without limits where nothing is known of the noise."""
    if math.isinf(half):
        return Interval(math.exp(logarithm), None, None)
    return Interval(math.exp(logarithm), math.exp(logarithm - half), math.exp(logarithm + half))


def beaten(effects: Effects, setting: int) -> int:
    """How many of the other settings cost more."""
    return sum(cost > effects.costs[setting] for cost in effects.costs.values())


def _setting(context: Context, case: Case, measured: Measurements, objective: Objective) -> Setting:
    values = [objective.value_of(cost) for cost in measured.costs(case)]
    return Setting(case.id, context.values(case), interval_of_values(values) if values else None)
