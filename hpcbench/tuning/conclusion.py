"""The result of a search from its measurements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hpcbench.analysis.stats.intervals import interval_of_values
from hpcbench.plan.case import Case
from hpcbench.tuning.ask_tell import Trials
from hpcbench.tuning.block_model import Effects
from hpcbench.tuning.exhaustive import cost_over_choice
from hpcbench.tuning.fidelity import Stage
from hpcbench.tuning.how_to_apply import usage
from hpcbench.tuning.measurements import Measurements
from hpcbench.tuning.result import ConfigurationResult, Failure, GridResult, Recommendation, TuningResult
from hpcbench.tuning.search import SearchResult
from hpcbench.tuning.search_space import Context

_EQUAL = ("parameter_count", "flops_per_item", "math_mode")  # of the work of a record


def conclude(context: Context, found: SearchResult | None, measured: Measurements, repetitions: int) -> TuningResult:
    """Return the result of a search, before any full grid."""
    expected_s = measured.expected_s(context.cases)
    return TuningResult(
        title=context.title,
        settings=len(context.cases),
        answer=_recommendation(context, found, measured) if found else None,
        failed=_failures(context, measured),
        seconds=measured.seconds,
        measurements=measured.count,
        with_interference=measured.with_interference,
        grid_seconds=None if expected_s is None else repetitions * expected_s,
        model=context.model,
    )


def _failures(context: Context, measured: Measurements) -> tuple[Failure, ...]:
    """Return the first failure of each configuration."""
    of_cases = [(case, measured.failures(case)) for case in context.cases]
    return tuple(Failure(case.id, context.values(case), whys[0]) for case, whys in of_cases if whys)


def _recommendation(context: Context, found: SearchResult, measured: Measurements) -> Recommendation:
    default, winner = (context.cases[number] for number in (context.default, found.winner))
    pairs = found.verdict.pairs if found.verdict else 0
    with_interference = (
        sum(measured.with_interference_of(case, pairs) for case in (winner, default)) if winner != default else 0
    )
    mostly_with_interference = with_interference > pairs  # of the runs, two in each pair
    recommended = context.default if mostly_with_interference else found.best
    best = context.cases[recommended]
    of_default = measured.completed(default)
    return Recommendation(
        best=_configuration(context, best, measured, pairs),
        default=_configuration(context, default, measured, pairs),
        winner=_configuration(context, winner, measured, pairs),
        gain=found.verdict.gain if found.verdict else None,
        certain=found.verdict.certain and not mostly_with_interference if found.verdict else False,
        pairs=pairs,
        with_interference=with_interference,
        beats=_worse(found.effects, recommended),
        of=len(found.effects.costs) - 1,
        usage=usage(best, default, measured.completed(best)),
        differs=_differences(measured, best, default),
        inherited=of_default.outside if of_default else {},
    )


def _differences(measured: Measurements, best: Case, default: Case) -> dict[str, tuple[Any, Any]]:
    """Return both values of each difference between the work of both, by name; none if one has not completed."""
    records = measured.completed(best), measured.completed(default)
    if not records[0] or not records[1]:
        return {}
    works = [record.work for record in records if record]
    of_its_format = {"math_mode"} if best.parameters.dtype != default.parameters.dtype else set()
    names = [name for name in _EQUAL if name not in of_its_format]
    pairs = {name: (getattr(works[0], name, None), getattr(works[1], name, None)) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def with_grid(
    result: TuningResult, context: Context, best: int, trials: Trials, measured: Measurements
) -> TuningResult:
    """Return the result with the rank of `best` in the full grid, whose trials and measurements are given."""
    failed = {each.case: each for each in (*_failures(context, measured), *result.failed)}
    result = replace(result, failed=tuple(failed.values()))
    if not trials.configurations:
        return result
    effects = trials.effects()
    failed_in_it = best not in effects.costs
    grid = GridResult(
        best=_configuration(context, context.cases[effects.order()[0]], measured),
        slower=None if failed_in_it else cost_over_choice(trials.measured(Stage.FULL), best),
        beats=0 if failed_in_it else _worse(effects, best),
        of=len(effects.costs) - 1,
        failed=failed_in_it,
    )
    return replace(result, grid=grid, grid_seconds=measured.seconds)


def _worse(effects: Effects, configuration: int) -> int:
    """Return how many of the other configurations cost more."""
    return sum(cost > effects.costs[configuration] for cost in effects.costs.values())


def _configuration(context: Context, case: Case, measured: Measurements, last: int = 0) -> ConfigurationResult:
    """Return a configuration with the interval of its `last` measurements, or of all if `last` is 0.

    The last ones are those of the paired comparison, which did not select the configuration.
    """
    values = [measured.objective.value_of(cost) for cost in measured.costs(case)[-last:]]
    return ConfigurationResult(case.id, context.values(case), interval_of_values(values) if values else None)
