"""The speedup of a case over its base case, with its interval.

Both have the same workload and problem size: the same batch size per task, or, if no other case has it, the same items
per step. The base of a case on more nodes is therefore that of weak or strong scaling. For training to a target
accuracy, the batch size is not part of the problem size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.bootstrap_replicates import Replicates
from hpcbench.analysis.cases.case_table import case_names
from hpcbench.analysis.cases.ranking import speed_of
from hpcbench.analysis.cases.workloads import work_groups
from hpcbench.analysis.stats.intervals import Interval
from hpcbench.core.frameworks import TIME_TO_ACCURACY
from hpcbench.core.run_spec import COMMAND

_SIZES = ("batch_size", "items_per_step")
COLUMNS = ["speedup", "speedup_ci_low", "speedup_ci_high"]


def add_speedup(cases: pd.DataFrame, replicates: Replicates, base: int | None = None) -> pd.DataFrame:
    """Return the cases with `speedup`, the ratio of throughputs (or inverse times) to the base case of the workload.

    `base` is the index of a row; by default, the base is the first measured case of the same workload and problem size.
    `speedup_base` is the name of the base. Cases without a base have no speedup. The base has speedup 1 without a CI.
    """
    names, speeds = case_names(cases).tolist(), speed_of(cases).to_numpy(dtype=np.float64)
    times, keys = cases["time_median_s"].tolist(), list(zip(cases["sweep"], cases["case"], strict=True))
    given = None if base is None else list(cases.index).index(base)
    found, bases = np.full((len(cases), len(COLUMNS)), np.nan), np.full(len(cases), None, dtype=object)
    for members in _with_equal_work(cases):
        for row, reference in _references(cases.iloc[members], members, given):
            bases[row] = names[reference]
            found[row, 0] = speeds[row] / speeds[reference]
            if row != reference and times[row] > 0 and not np.isnan(found[row, 0]):
                ratio = replicates.ratio(keys[reference], keys[row], times[reference] / times[row])
                found[row, 1:] = _limits(ratio, float(found[row, 0]))
    return cases.assign(
        **dict(zip(COLUMNS, found.T, strict=True)), speedup_base=pd.Series(bases, cases.index, dtype=object)
    )


def same_problem(cases: pd.DataFrame, case: pd.Series[Any]) -> pd.Series[bool]:
    """Return a mask of the cases that have the problem size of `case`; all must have its workload."""
    if case["task"] == TIME_TO_ACCURACY:
        return pd.Series(True, cases.index)
    batch, items = (cases[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in _SIZES)
    own = [np.nan if pd.isna(case[name]) else float(case[name]) for name in _SIZES]
    return pd.Series((batch == own[0]) | (items == own[1]) | np.isnan(own[0]) & np.isnan(batch), cases.index)


def _references(cases: pd.DataFrame, members: list[int], given: int | None) -> Iterator[tuple[int, int]]:
    """Yield each row of a workload that has a base, with the row of the base."""
    if given is not None:
        if given in members:
            alike = same_problem(cases, cases.iloc[members.index(given)]).tolist()
            yield from ((row, given) for row, is_alike in zip(members, alike, strict=True) if is_alike)
        return
    if cases.iloc[0]["task"] == TIME_TO_ACCURACY:
        yield from ((row, members[0]) for row in members)
        return
    batches, items = (cases[name].tolist() for name in _SIZES)
    count = Counter(batches)
    of_batch: dict[Any, int] = {}
    of_items: dict[Any, int] = {}  # cases that are their own base
    for row, batch, item in zip(members, batches, items, strict=True):
        base = (
            of_batch.setdefault(batch, row) if count[batch] > 1 else row if pd.isna(item) else of_items.get(item, row)
        )
        if base == row and not pd.isna(item):
            of_items.setdefault(item, row)
        yield row, base


def _with_equal_work(cases: pd.DataFrame) -> list[list[int]]:
    """Return the row numbers of the measured cases of each workload, except commands, whose work is unknown."""
    found: dict[int, list[int]] = {}
    for place, (work, framework) in enumerate(zip(work_groups(cases), cases["framework"], strict=True)):
        if work >= 0 and framework != COMMAND:
            found.setdefault(work, []).append(place)
    return list(found.values())


def _limits(of_times: Interval, speedup: float) -> tuple[float, float]:
    """Return the limits of a speedup: those of the ratio of times, multiplied by the ratio of items per step."""
    if of_times.low is None or of_times.high is None:
        return np.nan, np.nan
    more = speedup / of_times.estimate
    return of_times.low * more, of_times.high * more
