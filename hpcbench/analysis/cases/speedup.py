"""How much faster a case is than its base case, with the interval of that."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.bootstrap_replicates import Replicates
from hpcbench.analysis.cases.case_table import case_names, speed_of, work_groups
from hpcbench.analysis.stats.intervals import Interval
from hpcbench.core.run_spec import COMMAND

COLUMNS = ["speedup", "speedup_ci_low", "speedup_ci_high"]


def add_speedup(cases: pd.DataFrame, replicates: Replicates, base: int | None = None) -> pd.DataFrame:
    """The cases with `speedup`: throughput (or what is done, over its time) over the base case's, for equal work.

    `base` is the index of a row; without one, the first measured case of each kind of work is its base: `speedup_base`
    names it. A case whose work differs from the base case's has no speedup. The base itself has 1, and no interval.
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
    """The places of the measured cases of each kind of work, without what commands did, of which nothing is known."""
    found: dict[int, list[int]] = {}
    for place, (work, framework) in enumerate(zip(work_groups(cases), cases["framework"], strict=True)):
        if work >= 0 and framework != COMMAND:
            found.setdefault(work, []).append(place)
    return list(found.values())


def _limits(of_times: Interval, speedup: float) -> tuple[float, float]:
    """Low and high: the base's time over the case's, times what the case does more in a step."""
    if of_times.low is None or of_times.high is None:
        return np.nan, np.nan
    more = speedup / of_times.estimate
    return of_times.low * more, of_times.high * more
