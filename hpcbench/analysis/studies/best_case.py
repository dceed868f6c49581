"""What a sweep was made for: the best case of each kind of work, how sure that is, and what is as good."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtri

from hpcbench.analysis.cases.bootstrap_replicates import Key
from hpcbench.analysis.cases.case_table import case_names
from hpcbench.analysis.cases.labels import phrase
from hpcbench.analysis.cases.quantities import TIME, Quantity, follows_time
from hpcbench.analysis.results import Results, Work
from hpcbench.analysis.stats.intervals import LEVEL, Interval

MOST_COMPARED = 1000  # cases that are held against the best one: what ranks behind so many is not as good as it


class Named(NamedTuple):
    """A case, and how a sentence names it, which two may be alike in."""

    key: Key
    name: str


@dataclass(frozen=True)
class Answer:
    """Of one kind of work. `gain` is how many times as good as the base case the best one is, above 1 where better; no
    number where the base is 0 or less."""

    work: Work
    quantity: Quantity
    best: Named
    value: Interval  # of the best case
    base: Named
    base_given: bool
    gain: Interval
    alike: tuple[Named, ...]  # the cases whose difference from the best may be noise, best first
    cases: int
    runs: int  # the fewest repetitions that the best and the base rest on
    unknown: int  # cases of this work that have no such value, beside them
    single: tuple[Named, ...]  # of the best and the base, what rests on one repetition
    is_certain: bool  # that the best is better than the base, though it was chosen as the best of so many

    @property
    def best_is_base(self) -> bool:
        return self.best.key == self.base.key


def answers(results: Results) -> list[Answer]:
    """One for each kind of work in which the quantity was measured, in the order of the ranking."""
    ranked = [(work, results.ranked_by(work)) for work in results.works]
    measured = [(work, quantity) for work, quantity in ranked if work.cases[quantity.column].notna().any()]
    return [_answer(replace(results, quantity=quantity), work) for work, quantity in measured]


def _answer(results: Results, work: Work) -> Answer:
    quantity = results.quantity
    measured = work.cases[work.cases[quantity.column].notna()]
    best, base = measured.iloc[0], _base(measured)
    others = [other for _, other in measured.iloc[1:MOST_COMPARED].iterrows()]
    gained = gain(results, best, base)
    alike = [other for other in others if _is_alike(gain(results, best, other))]
    return Answer(
        work,
        quantity,
        _named(best, work),
        Interval(float(best[quantity.column]), *(_limit(best, column) for column in quantity.limits)),
        _named(base, work),
        results.base_given,
        gained,
        tuple(_named(other, work) for other in alike),
        len(measured),
        int(min(best["repetitions"], base["repetitions"])),
        len(work.cases) - len(measured),
        tuple(dict.fromkeys(_named(case, work) for case in (best, base) if case["repetitions"] == 1)),
        _is_certain(gained, len(measured) - 1),
    )


def _is_certain(interval: Interval, rivals: int) -> bool:
    """Whether it is above 1 also at a level that is divided by the number of cases that could have been the best one
    (Bonferroni). The interval is widened as if its logarithms were normal: no bootstrap reaches so far out."""
    if interval.low is None or interval.low <= 1:
        return False
    tail = (1 - LEVEL) / 2
    wider = float(ndtri(tail / rivals)) / float(ndtri(tail))
    return math.log(interval.estimate) > wider * (math.log(interval.estimate) - math.log(interval.low))


def gain(results: Results, case: pd.Series[Any], other: pd.Series[Any]) -> Interval:
    """How many times as good a case is as another one of the same work, by the quantity of the ranking.

    Without limits where one of them rests on a single run, of which the samples say nothing about the next, while there
    are cases that rest on more.
    """
    quantity = results.quantity
    one, two = key_of(case), key_of(other)
    better, worse = (one, two) if quantity.more_is_better else (two, one)
    values = {one: float(case[quantity.column]), two: float(other[quantity.column])}
    if one == two or not values[worse] > 0:
        return Interval(1.0 if one == two else np.nan, None, None)
    estimate = values[better] / values[worse]
    if 1 in (case["repetitions"], other["repetitions"]) and (results.cases["repetitions"] > 1).any():
        return Interval(estimate, None, None)
    if not follows_time(quantity):
        return results.replicates.ratio(better, worse, estimate, quantity)
    times = results.replicates.ratio(two, one, float(other[TIME.column]) / float(case[TIME.column]))
    return times.scaled(estimate / times.estimate)  # where the items of a step, or the prices of an hour, differ


def _is_alike(interval: Interval) -> bool:
    return interval.low is not None and interval.low <= 1


def _base(cases: pd.DataFrame) -> pd.Series[Any]:
    """The base case of the speedups; the first one of the sweep where there are none, or it has no such value."""
    named = cases[case_names(cases) == cases["speedup_base"]]
    return (named if len(named) else cases.sort_values("case_index", kind="stable")).iloc[0]


def key_of(case: pd.Series[Any]) -> Key:
    return case["sweep"], case["case"]


def _named(case: pd.Series[Any], work: Work) -> Named:
    return Named(key_of(case), phrase(case, work.shown))


def _limit(case: pd.Series[Any], column: str) -> float | None:
    return float(case[column]) if column in case and pd.notna(case[column]) else None
