"""The speedup of a case over its base case, with its interval."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.bootstrap_replicates import Replicates
from hpcbench.analysis.cases.case_table import case_names, speed_of, work_groups
from hpcbench.analysis.stats.intervals import Interval
from hpcbench.core.run_spec import COMMAND

COLUMNS = ["speedup", "speedup_ci_low", "speedup_ci_high"]


def add_speedup(cases: pd.DataFrame, replicates: Replicates, base: int | None = None) -> pd.DataFrame:
    """Return the cases with `speedup`, the ratio of throughputs (or inverse times) to the base case of the workload.

    `base` is the index of a row; by default, the base is the first measured case of each workload. `speedup_base` is
    the name of the base. Cases without a base in their workload have no speedup. The base has speedup 1 without limits.
    """
    names, speeds = case_names(cases).tolist(), speed_of(cases).to_numpy(dtype=np.float64)
    times, keys = cases["time_median_s"].tolist(), list(zip(cases["sweep"], cases["case"], strict=True))
    given = None if base is None else list(cases.index).index(base)
    found, bases = np.full((len(cases), len(COLUMNS)), np.nan), np.full(len(cases), None, dtype=object)
    for members in _with_equal_work(cases):
        reference = members[0] if given is None else given
        if reference not in members:
            continue
        bases[members] = names[reference]
        found[members, 0] = speeds[members] / speeds[reference]
        for row in members:
            if row != reference and times[row] > 0 and not np.isnan(found[row, 0]):
                ratio = replicates.ratio(keys[reference], keys[row], times[reference] / times[row])
                found[row, 1:] = _limits(ratio, float(found[row, 0]))
    return cases.assign(
        **dict(zip(COLUMNS, found.T, strict=True)), speedup_base=pd.Series(bases, cases.index, dtype=object)
    )


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
