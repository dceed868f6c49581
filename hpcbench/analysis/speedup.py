"""How much faster a case is than its base case, with the interval of that."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hpcbench.analysis.replicates import Replicates
from hpcbench.analysis.statistics import Floats
from hpcbench.analysis.summary import case_names, speed_of, work_groups
from hpcbench.node.planned import COMMAND

COLUMNS = ["speedup", "speedup_ci_low", "speedup_ci_high"]


def add_speedup(cases: pd.DataFrame, replicates: Replicates, base: int | None = None) -> pd.DataFrame:
    """The cases with `speedup`: throughput (or what is done, over its time) over the base case's, for equal work.

    `base` is the index of a row; without one, the first measured case of each kind of work is its base: `speedup_base`
    names it. A case whose work differs from the base case's has no speedup. The base itself has 1, and no interval.
    """
    groups = work_groups(cases)
    result = cases.assign(**dict.fromkeys(COLUMNS, np.nan), speedup_base=None)
    names = case_names(cases)
    for number in sorted(set(groups[groups >= 0])):
        members = groups.index[groups == number]
        if cases.loc[members[0], "framework"] == COMMAND or (base is not None and base not in members):
            continue
        reference = members[0] if base is None else base
        speeds = speed_of(cases.loc[members])
        result.loc[members, "speedup"] = speeds / float(speeds[reference])
        result.loc[members, COLUMNS[1:]] = _limits(result, list(members), reference, replicates)
        result.loc[list(members), "speedup_base"] = names[reference]
    return result


def _limits(cases: pd.DataFrame, members: list[int], base: int, replicates: Replicates) -> Floats:
    """Low and high of each speedup: it is the base's time over the case's, times what the case does more in a step."""
    columns = ("sweep", "case", "time_median_s", "speedup")
    rows = dict(zip(members, zip(*(cases.loc[members, name] for name in columns), strict=True), strict=True))
    *base_key, base_time, _ = rows[base]
    limits = np.full((len(members), 2), np.nan)
    for place, (sweep, case, time, speedup) in enumerate(rows.values()):
        if members[place] == base or not time > 0 or np.isnan(speedup):
            continue
        ratio = replicates.ratio(tuple(base_key), (sweep, case), base_time / time)
        if ratio.low is not None and ratio.high is not None:
            limits[place] = np.array([ratio.low, ratio.high]) * (speedup / ratio.estimate)
    return limits
