"""The workloads of commands, distinguished by user parameters, because the work of a command is unknown."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pandas as pd

from hpcbench.analysis.cases.labels import cell, plain
from hpcbench.config.names import USER_PARAMETER
from hpcbench.core.run_spec import COMMAND

USER_WORKLOAD = "user_workload"  # column of the table of cases


def user_workload(cases: pd.DataFrame, same_workload: Collection[str] = ()) -> pd.Series[Any]:
    """Return for each command the user parameters in which the commands of its experiment differ: `size=10, flag=-`.

    Other cases have None. Parameters in `same_workload` are left out, because they do not change the workload.
    """
    found = pd.Series(None, cases.index, dtype=object)
    for _, rows in cases[cases["framework"] == COMMAND].groupby("experiment", sort=False):
        names = [name for name in differing_parameters(rows) if plain(name) not in same_workload]
        if names:
            words = zip(*([f"{plain(name)}={cell(value)}" for value in rows[name]] for name in names), strict=True)
            found[rows.index] = [", ".join(each) for each in words]
    return found


def differing_parameters(cases: pd.DataFrame) -> list[str]:
    """Return the columns of user parameters that have several values."""
    user_parameters = [name for name in map(str, cases) if name.startswith(USER_PARAMETER)]
    return [name for name in user_parameters if cases[name].astype(str).nunique(dropna=False) > 1]


def differing_user_parameters(cases: pd.DataFrame) -> list[str]:
    """Return the columns of user parameters that distinguish workloads of the measured commands."""
    measured = cases[cases["time_median_s"].notna() & cases[USER_WORKLOAD].notna()]
    alike = measured.groupby(USER_WORKLOAD)
    return [name for name in differing_parameters(measured) if (alike[name].nunique(dropna=False) == 1).all()]
