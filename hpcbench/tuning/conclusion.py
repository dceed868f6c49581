"""From what a search and the full grid have measured to what to tell of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hpcbench.analysis.stats.intervals import interval_of_values
from hpcbench.plan.case import Case
from hpcbench.tuning.ask_tell import Notebook
from hpcbench.tuning.block_model import Effects
from hpcbench.tuning.exhaustive import beside_chosen
from hpcbench.tuning.fidelity import Stage
from hpcbench.tuning.how_to_apply import inherited, usage
from hpcbench.tuning.measurements import Measurements
from hpcbench.tuning.result import Answer, Failure, Finding, Grid, Setting
from hpcbench.tuning.search import Found
from hpcbench.tuning.search_space import Context

_EQUAL = ("parameter_count", "flops_per_item", "math_mode")  # of the work of a record


def conclude(context: Context, found: Found | None, measured: Measurements, repetitions: int) -> Finding:
    """What the search has found, before any grid was measured."""
    expected_s = measured.expected_s(context.cases)
    return Finding(
        title=context.title,
        settings=len(context.cases),
        answer=_answer(context, found, measured) if found else None,
        failed=_failures(context, measured),
        seconds=measured.seconds,
        measurements=measured.count,
        disturbed=measured.disturbed,
        grid_seconds=None if expected_s is None else repetitions * expected_s,
    )


def _failures(context: Context, measured: Measurements) -> tuple[Failure, ...]:
    """Of each setting the first."""
    of_cases = [(case, measured.failures(case)) for case in context.cases]
    return tuple(Failure(case.id, context.values(case), whys[0]) for case, whys in of_cases if whys)


def _answer(context: Context, found: Found, measured: Measurements) -> Answer:
    best, default, winner = (context.cases[number] for number in (found.best, context.default, found.winner))
    pairs = found.verdict.pairs if found.verdict else 0
    return Answer(
        best=_setting(context, best, measured, pairs),
        default=_setting(context, default, measured, pairs),
        winner=_setting(context, winner, measured, pairs),
        gain=found.verdict.gain if found.verdict else None,
        certain=found.verdict.certain if found.verdict else False,
        pairs=pairs,
        beats=_worse(found.effects, found.best),
        of=len(found.effects.costs) - 1,
        usage=usage(best, default, measured.completed(best) or {}),
        differs=_differences(measured, best, default),
        inherited=inherited(default, (measured.completed(default) or {}).get("environment", {})),
    )


def _differences(measured: Measurements, best: Case, default: Case) -> dict[str, tuple[Any, Any]]:
    """What settings must not change of the work, and these do; nothing where the default has not completed."""
    records = measured.completed(best), measured.completed(default)
    if not records[0] or not records[1]:
        return {}
    works = [record["work"] or {} for record in records if record]
    of_its_format = {"math_mode"} if best.parameters.dtype != default.parameters.dtype else set()
    names = [name for name in _EQUAL if name not in of_its_format]
    pairs = {name: (works[0].get(name), works[1].get(name)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def with_grid(finding: Finding, context: Context, best: int, notebook: Notebook, measured: Measurements) -> Finding:
    """The finding with how the `best` that it tells does among all; notebook and measurements are those of the grid
    alone."""
    failed = {each.case: each for each in (*_failures(context, measured), *finding.failed)}
    finding = replace(finding, failed=tuple(failed.values()))
    if not notebook.settings:
        return finding
    effects = notebook.effects()
    failed_in_it = best not in effects.costs
    grid = Grid(
        best=_setting(context, context.cases[effects.order()[0]], measured),
        slower=None if failed_in_it else beside_chosen(notebook.measured(Stage.FULL), best),
        beats=0 if failed_in_it else _worse(effects, best),
        of=len(effects.costs) - 1,
        failed=failed_in_it,
    )
    return replace(finding, grid=grid, grid_seconds=measured.seconds)


def _worse(effects: Effects, setting: int) -> int:
    """How many of the other settings cost more."""
    return sum(cost > effects.costs[setting] for cost in effects.costs.values())


def _setting(context: Context, case: Case, measured: Measurements, last: int = 0) -> Setting:
    """What is known of it by its `last` measurements, those of a duel, which have not chosen it; else by all."""
    values = [measured.objective.value_of(cost) for cost in measured.costs(case)[-last:]]
    return Setting(case.id, context.values(case), interval_of_values(values) if values else None)
