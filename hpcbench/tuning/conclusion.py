"""From what a search and the full grid have measured to what to tell of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from hpcbench.analysis.stats.intervals import interval_of_values
from hpcbench.core.record import Record
from hpcbench.plan.case import Case
from hpcbench.tuning.ask_tell import Notebook
from hpcbench.tuning.block_model import Effects
from hpcbench.tuning.exhaustive import beside_chosen
from hpcbench.tuning.fidelity import Stage
from hpcbench.tuning.how_to_apply import inherited, usage
from hpcbench.tuning.objective import Objective
from hpcbench.tuning.result import Answer, Failure, Finding, Grid, Setting
from hpcbench.tuning.search import Found
from hpcbench.tuning.search_space import Context

_EQUAL = ("parameter_count", "flops_per_item", "math_mode")  # of the work of a record


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

    def example(self, case: Case) -> Record:
        """A record of it that completed."""

    def environment(self, case: Case) -> Mapping[str, str]:
        """Variables of a repetition of it that completed; none where none did."""

    def expected_s(self, cases: Sequence[Case]) -> float | None:
        """What a full measurement of each takes, all together; None where that is not known."""

    def failures(self, case: Case) -> list[str]:
        """Of its measurements that say nothing of what it costs: why."""


def conclude(
    context: Context,
    found: Found | None,
    measured: Measurements,
    objective: Objective,
    repetitions: int,
) -> Finding:
    """What the search has found, before any grid was measured."""
    expected_s = measured.expected_s(context.cases)
    return Finding(
        title=context.title,
        settings=len(context.cases),
        answer=_answer(context, found, measured, objective) if found else None,
        failed=_failures(context, measured),
        seconds=measured.seconds,
        measurements=measured.measurements,
        disturbed=measured.disturbed,
        grid_seconds=None if expected_s is None else repetitions * expected_s,
    )


def _failures(context: Context, measured: Measurements) -> tuple[Failure, ...]:
    """Of each setting the first."""
    of_cases = [(case, measured.failures(case)) for case in context.cases]
    return tuple(Failure(case.id, context.values(case), whys[0]) for case, whys in of_cases if whys)


def _answer(context: Context, found: Found, measured: Measurements, objective: Objective) -> Answer:
    best, default, winner = (context.cases[number] for number in (found.best, context.default, found.winner))
    pairs = found.verdict.pairs if found.verdict else 0
    return Answer(
        best=_setting(context, best, measured, objective, pairs),
        default=_setting(context, default, measured, objective, pairs),
        winner=_setting(context, winner, measured, objective, pairs),
        gain=found.verdict.gain if found.verdict else None,
        certain=found.verdict.certain if found.verdict else False,
        pairs=pairs,
        beats=_worse(found.effects, found.best),
        of=len(found.effects.costs) - 1,
        usage=usage(best, default, measured.example(best)),
        differs=_differences(measured, best, default),
        inherited=inherited(default, measured.environment(default)),
    )


def _differences(measured: Measurements, best: Case, default: Case) -> dict[str, tuple[Any, Any]]:
    """What settings must not change of the work, and these do; nothing where the default has not completed."""
    if not measured.costs(default):
        return {}
    works = [measured.example(case).work for case in (best, default)]
    of_its_format = {"math_mode"} if best.parameters.dtype != default.parameters.dtype else set()
    names = [name for name in _EQUAL if name not in of_its_format]
    pairs = {name: (getattr(works[0], name, None), getattr(works[1], name, None)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def with_grid(
    finding: Finding, context: Context, best: int, notebook: Notebook, measured: Measurements, objective: Objective
) -> Finding:
    """The finding with how the `best` that it tells does among all; notebook and measurements are those of the grid
    alone."""
    failed = {each.case: each for each in (*_failures(context, measured), *finding.failed)}
    finding = replace(finding, failed=tuple(failed.values()))
    if not notebook.settings:
        return finding
    effects = notebook.effects()
    failed_in_it = best not in effects.costs
    grid = Grid(
        best=_setting(context, context.cases[effects.order()[0]], measured, objective),
        slower=None if failed_in_it else beside_chosen(notebook.measured(Stage.FULL), best),
        beats=0 if failed_in_it else _worse(effects, best),
        of=len(effects.costs) - 1,
        failed=failed_in_it,
    )
    return replace(finding, grid=grid, grid_seconds=measured.seconds)


def _worse(effects: Effects, setting: int) -> int:
    """How many of the other settings cost more."""
    return sum(cost > effects.costs[setting] for cost in effects.costs.values())


def _setting(context: Context, case: Case, measured: Measurements, objective: Objective, last: int = 0) -> Setting:
    """What is known of it by its `last` measurements, those of a duel, which have not chosen it; else by all."""
    values = [objective.value_of(cost) for cost in measured.costs(case)[-last:]]
    return Setting(case.id, context.values(case), interval_of_values(values) if values else None)
