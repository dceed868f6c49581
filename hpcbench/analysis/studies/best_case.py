"""The best case of each workload, the significance of its gain over the base, and the cases that may be as good."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.bootstrap_replicates import Key
from hpcbench.analysis.cases.case_table import case_names
from hpcbench.analysis.cases.labels import phrase
from hpcbench.analysis.cases.quantities import SPEEDUP, TIME, Quantity, follows_time
from hpcbench.analysis.cases.speedup import same_problem
from hpcbench.analysis.results import Results, Workload
from hpcbench.analysis.stats.distributions import normal_quantile
from hpcbench.analysis.stats.intervals import LEVEL, Interval
from hpcbench.core.samples import INTERFERENCE

MAX_COMPARED = 1000  # cases that are compared with the best one; lower ranks are assumed to be worse


class Named(NamedTuple):
    """The key of a case and its name in sentences, which need not be unique; empty if its workload identifies it."""

    key: Key
    name: str


class Base(NamedTuple):
    """The case with which the best case is compared, and how it was chosen."""

    case: Named
    is_given: bool  # by the user
    is_first: bool  # among all cases of the workload with a value; otherwise only among those of its problem size
    same_problem: bool  # whether it has the problem size of the best case (see speedup.py)


@dataclass(frozen=True)
class BestCase:
    """The best case of a workload. `gain` is its factor over the base case, above 1 if better; NaN if undefined."""

    work: Workload
    quantity: Quantity
    best: Named
    value: Interval  # of the best case
    base: Base
    gain: Interval
    alike: tuple[Named, ...]  # the cases whose difference from the best may be noise, best first
    cases: int
    runs: int  # the smaller number of runs of the best and the base case
    unknown: int  # further cases of this workload without a value of the quantity
    single: tuple[Named, ...]  # those of the best and the base case with one run
    with_interference: tuple[Named, ...]  # the best and the base case, if all their runs had interference
    all_with_interference: int  # number of cases of this workload whose runs all had interference
    unmonitored: tuple[Named, ...]  # best and base case, if only unmonitored runs count: others had interference
    is_significant: bool  # whether the gain is above 1, corrected for choosing the best

    @property
    def best_is_base(self) -> bool:
        """Return whether the best case is the base case."""
        return self.best.key == self.base.case.key


def best_cases(results: Results, works: Iterable[Workload] | None = None) -> list[BestCase]:
    """Return the best case of each workload, or of those in `works`, in which the quantity was measured, in order."""
    chosen = results.workloads if works is None else works
    return [best_case(results, work) for work in measured_workloads(results, chosen)]


def measured_workloads(results: Results, works: Iterable[Workload]) -> list[Workload]:
    """Return the workloads in which the quantity that ranks their cases was measured."""
    return [work for work in works if work.cases[results.ranked_by(work).column].notna().any()]


def best_case(results: Results, work: Workload) -> BestCase:
    """Return the best case of a workload in which the quantity was measured."""
    quantity = results.ranked_by(work)
    results = replace(results, quantity=quantity)
    measured = work.cases[work.cases[quantity.column].notna()]
    best = measured.iloc[0]
    base, named = _base(results, measured, work)
    others = [other for _, other in measured.iloc[1:MAX_COMPARED].iterrows()]
    if quantity == SPEEDUP:  # a ratio of speedups over different bases has no meaning
        others = [other for other in others if other["speedup_base"] == best["speedup_base"]]
    gained = gain(results, best, base)
    alike = [other for other in others if _is_alike(gain(results, best, other))]
    return BestCase(
        work,
        quantity,
        _named(best, work),
        Interval(float(best[quantity.column]), *(_limit(best, column) for column in quantity.limits)),
        named,
        gained,
        tuple(_named(other, work) for other in alike),
        len(measured),
        int(min(best["runs"], base["runs"])),
        len(work.cases) - len(measured),
        _those(best, base, work, lambda case: bool(case["runs"] == 1)),
        _those(best, base, work, lambda case: bool(case["interference"] == INTERFERENCE)),
        int((measured["interference"] == INTERFERENCE).sum()),
        _those(best, base, work, _has_only_unmonitored),
        _is_significant(gained, len(measured) - 1),
    )


def _has_only_unmonitored(case: pd.Series[Any]) -> bool:
    """Return whether all runs that count are unmonitored, and others had interference."""
    return bool(case["unmonitored"] == case["runs"] and case["interference_runs"])


def _is_significant(interval: Interval, rivals: int) -> bool:
    """Return whether the gain is above 1 with a Bonferroni correction for the number of cases that could be the best.

    The interval is widened under a log-normal assumption, since the bootstrap does not resolve such small tails.
    """
    if interval.low is None or interval.low <= 1:
        return False
    tail = (1 - LEVEL) / 2
    wider = normal_quantile(tail / rivals) / normal_quantile(tail)
    return math.log(interval.estimate) > wider * (math.log(interval.estimate) - math.log(interval.low))


def gain(results: Results, case: pd.Series[Any], other: pd.Series[Any]) -> Interval:
    """Return the factor of a case over another one of its workload by the ranking quantity, above 1 if better.

    The limits are None if one of them has a single run, which does not describe further runs, and others have
    more.
    """
    quantity = results.quantity
    one, two = key_of(case), key_of(other)
    better, worse = (one, two) if quantity.more_is_better else (two, one)
    values = {one: float(case[quantity.column]), two: float(other[quantity.column])}
    if one == two or not values[worse] > 0:
        return Interval(1.0 if one == two else np.nan, None, None)
    estimate = values[better] / values[worse]
    if 1 in (case["runs"], other["runs"]) and (results.cases["runs"] > 1).any():
        return Interval(estimate, None, None)
    if not follows_time(quantity):
        return results.replicates.ratio(better, worse, estimate, quantity)
    time_s, other_s = float(case[TIME.column]), float(other[TIME.column])
    if not (time_s > 0 and other_s > 0):  # shorter than the clock's resolution
        return Interval(estimate, None, None)
    times = results.replicates.ratio(two, one, other_s / time_s)
    return times.scaled(estimate / times.estimate)  # adjusts for different items per step or prices per hour


def _is_alike(interval: Interval) -> bool:
    return interval.low is not None and interval.low <= 1


def _base(results: Results, cases: pd.DataFrame, work: Workload) -> tuple[pd.Series[Any], Base]:
    """Return the case with which the best case, the first of `cases`, is compared: the given base, if it is among them.

    Otherwise, return the first case of the sweeps that has the same problem size or, if no other case has it, the first
    case.
    """
    alike = same_problem(cases, cases.iloc[0])
    given = cases[case_names(cases) == cases["speedup_base"]] if results.base_given else cases.head(0)
    sweeps = {name: place for place, name in enumerate(results.repetitions["sweep"].unique())}
    ordered = cases.assign(_sweep=cases["sweep"].map(sweeps)).sort_values(["_sweep", "case_index"], kind="stable")
    own = cases.iloc[0]["speedup_base"]
    same = ordered[alike[ordered.index]] if pd.isna(own) else ordered[ordered["speedup_base"] == own]
    usual = same if len(same) > 1 or results.quantity == SPEEDUP else ordered
    base = (given if len(given) else usual).iloc[0]
    is_first = key_of(base) == key_of(ordered.iloc[0])
    return base, Base(_named(base, work), bool(len(given)), is_first, base.name in alike.index[alike])


def _those(
    best: pd.Series[Any], base: pd.Series[Any], work: Workload, condition: Callable[[pd.Series[Any]], bool]
) -> tuple[Named, ...]:
    """Return those of the best and the base case that meet a condition."""
    return tuple(dict.fromkeys(_named(case, work) for case in (best, base) if condition(case)))


def key_of(case: pd.Series[Any]) -> Key:
    """Return the key of a case: its sweep and its id."""
    return case["sweep"], case["case"]


def _named(case: pd.Series[Any], work: Workload) -> Named:
    is_lone = len(work.cases) == 1 and not work.shown
    return Named(key_of(case), "" if is_lone else phrase(case, work.shown))


def _limit(case: pd.Series[Any], column: str) -> float | None:
    return float(case[column]) if column in case and pd.notna(case[column]) else None
