"""The ranking of cases within each workload, and the quantity that ranks them."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pandas as pd

from hpcbench.analysis.cases.quantities import MODELS, NOT_FOUND, THROUGHPUT, TIME, Quantity, as_reported
from hpcbench.analysis.cases.workloads import work_groups
from hpcbench.core.run_spec import COMMAND
from hpcbench.core.samples import PROBED


def speed_of(cases: pd.DataFrame) -> pd.Series[float]:
    """Return items per second, or the inverse of the time if measurements have no items; missing if the time is 0.

    The items of a run that trains several models are the models that reached the target.
    """
    times = cases["time_median_s"].astype(float).replace(0, np.nan)
    models = cases[MODELS.column].astype(float).where(_train_several(cases)) / 60
    return cases["throughput_items_per_s"].astype(float).fillna(models).fillna(1 / times)


def _train_several(cases: pd.DataFrame) -> pd.Series[bool]:
    return cases["models"].astype(float) > 1


def ranked_by(cases: pd.DataFrame, quantity: Quantity, metrics: Collection[Quantity]) -> Quantity:
    """Return the quantity that ranks the cases of one workload.

    This is `quantity`, unless it is the throughput and no case has one. In this case, it is the first metric with a
    known better direction that a case has or lacks, otherwise the time. Commands with recorded steps are ranked by
    the time: the times of phases are also metrics. Runs that train several models are ranked by the models per minute.
    """
    if quantity != THROUGHPUT or cases[THROUGHPUT.column].notna().any():
        return as_reported(quantity, cases)
    if _train_several(cases).any():
        return MODELS
    if cases[PROBED].notna().any():
        return TIME
    lacking = {name for names in cases[NOT_FOUND[0]].dropna() for name in names.split(", ")}
    known = [each for each in metrics if cases[each.column].notna().any() or each.title in lacking]
    return next((each for each in known if each.more_is_better is not None), as_reported(TIME, cases))


def ranked(cases: pd.DataFrame, quantity: Quantity, metrics: Collection[Quantity] = ()) -> pd.DataFrame:
    """Return the cases by workload, sorted by the quantity of ranked_by, best first. Unmeasured cases come last."""
    groups = work_groups(cases)
    key = (speed_of(cases) if quantity == THROUGHPUT else cases[quantity.column]).copy()
    for _, rows in cases[cases["framework"] == COMMAND].groupby(groups[groups >= 0]) if metrics else ():
        own = ranked_by(rows, quantity, metrics)
        if own in metrics and own != quantity:
            key[rows.index] = rows[own.column].astype(float) * (1 if own.more_is_better else -1)
    if quantity == THROUGHPUT:
        by_time = cases[THROUGHPUT.column].isna().groupby(groups).transform("all")
        key = key.mask(by_time & key.isna() & (cases[TIME.column] == 0), np.inf)
    order = cases.assign(_group=groups.replace(-1, np.iinfo(np.int64).max), _key=key)
    ascending = [True, not quantity.more_is_better]
    order = order.sort_values(["_group", "_key"], ascending=ascending, kind="stable", na_position="last")
    return order.drop(columns=["_group", "_key"]).reset_index(drop=True)
