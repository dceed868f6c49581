"""Summaries of large sweeps: numbers of cases and quartiles of the quantity by the values of their axes.

A case that was not measured has no workload (see workloads.work_groups), since its work is unknown. It is added to the
only workload with the same planned columns; if there are none or several, to a separate aggregate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.labels import varying
from hpcbench.analysis.cases.quantities import Quantity
from hpcbench.analysis.cases.user_workload import USER_WORKLOAD
from hpcbench.analysis.cases.workloads import work_groups
from hpcbench.analysis.results import Results, Workload
from hpcbench.analysis.stats.factor_levels import factor_of, text
from hpcbench.analysis.stats.intervals import Floats, quantile_of_sorted
from hpcbench.core.run_spec import COMMAND
from hpcbench.core.status import COMPLETED

QUARTILES = (0.25, 0.5, 0.75)
# Columns of a workload that are known before a case is measured.
_PLANNED = ("model", "model_options", "task", "dtype", "target_accuracy")


@dataclass(frozen=True)
class Level:
    """The cases with one value, or a range of values, of an axis. Best value and quartiles of the quantity are over the
    measured cases, None without any. `incomplete` counts cases with a run that did not complete; they may be
    measured."""

    axis: str  # column of the table of cases
    value: str
    cases: int
    measured: int
    incomplete: int
    best: float | None
    low: float | None
    median: float | None
    high: float | None


@dataclass(frozen=True)
class Aggregate:
    """All cases of a workload, or the cases of unknown workload if `work` is None. `levels` are in the order of the
    axes and of their values."""

    work: Workload | None
    quantity: Quantity
    cases: int
    levels: tuple[Level, ...]


def aggregates(results: Results) -> list[Aggregate]:
    """Return one aggregate per workload, in the order of the ranking, then at most one of cases of unknown workload.

    Each case is in exactly one aggregate, and counts once per axis.
    """
    cases = results.cases
    kinds = _kinds(cases)
    workloads: list[Workload | None] = [*results.workloads]  # indexed by the numbers of _kinds
    found = [_aggregate(cases[kinds == number], work, results) for number, work in enumerate(workloads)]
    unknown = cases[kinds < 0]
    return [*found, *([_aggregate(unknown, None, results)] if len(unknown) else [])]


def _kinds(cases: pd.DataFrame) -> pd.Series[int]:
    """Return the number of the workload of each case, including cases that were not measured; -1 if it is unknown."""
    groups = work_groups(cases)
    commands = cases["framework"] == COMMAND
    planned = (
        cases[list(_PLANNED)]
        .mask(commands)
        .assign(experiment=cases["experiment"].where(commands), **{USER_WORKLOAD: cases[USER_WORKLOAD]})
    )
    alike = planned.groupby(list(planned), sort=False, dropna=False).ngroup()
    known = groups[groups >= 0].groupby(alike)
    only = known.first().where(known.nunique() == 1)
    return groups.where(groups >= 0, alike.map(only)).fillna(-1).astype(int)


def _aggregate(cases: pd.DataFrame, work: Workload | None, results: Results) -> Aggregate:
    axes = varying(cases, list(results.shown))
    quantity = results.ranked_by(work) if work else results.quantity
    levels = (level for axis in axes for level in _levels(cases, axis, quantity))
    return Aggregate(work, quantity, len(cases), tuple(levels))


def _levels(cases: pd.DataFrame, axis: str, quantity: Quantity) -> Iterator[Level]:
    factor = factor_of(axis, cases[axis])
    values = cases[quantity.column].to_numpy(dtype=np.float64, na_value=np.nan)
    incomplete = cases["status"].ne(COMPLETED).to_numpy()
    sizes = np.bincount(factor.codes, minlength=len(factor.levels))
    groups = np.split(np.argsort(factor.codes, kind="stable"), np.cumsum(sizes[:-1]))
    for value, inside in zip(factor.levels, groups, strict=True):
        known = values[inside][np.isfinite(values[inside])]
        counts = inside.size, known.size, int(incomplete[inside].sum())
        yield Level(axis, text(value), *counts, *_spread(np.sort(known), quantity))


def _spread(ordered: Floats, quantity: Quantity) -> tuple[float | None, ...]:
    """Return the best value and the quartiles of the values; None without values."""
    if not ordered.size:
        return None, None, None, None
    return float(ordered[-1 if quantity.more_is_better else 0]), *(quantile_of_sorted(ordered, q) for q in QUARTILES)
