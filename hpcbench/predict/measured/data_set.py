"""The measurements of hpcbench itself, profiles and records, as a data set of the predictor."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from hpcbench.core.samples import INTERFERENCE
from hpcbench.predict.measured.profiles import RUN, profiled
from hpcbench.predict.measured.records import recorded
from hpcbench.predict.sets.data_set import DataSet, cleaned, merged
from hpcbench.util.text import plural

PROFILE_COLUMNS = ("arguments", "calls_per_step", "stream_s", "requested_clock_mhz")  # that identify a profile


def is_profile(rows: pd.DataFrame) -> bool:
    """Return whether a table has the columns of an operator profile."""
    return set(PROFILE_COLUMNS) <= set(rows.columns)


def of_profile(profile: pd.DataFrame, file: str, contaminated: pd.DataFrame | None = None) -> DataSet:
    """Return the data set of an operator profile; its flaws count the rows that were left out.

    `contaminated` has the columns RUN of runs with interference or throttling. A clock that was not requested counts as
    the default.
    """
    found = profiled(profile, file, contaminated)
    default = profile["requested_clock_mhz"].isna().to_numpy()
    networks, operators = (
        rows.assign(clock_mhz=rows["clock_mhz"].mask(default[rows["row"]]))
        for rows in (found.networks, found.operators)
    )
    return cleaned(DataSet(operators, networks, found.lists, flaws=_flaws(file, "row", found.left_out)))


def of_runs(repetitions: pd.DataFrame, file: str, profile: pd.DataFrame) -> DataSet:
    """Return the data set of the runs of a sweep, a table as of `collect.table.repetition_table`, and of its profile.

    The whole steps of profiled runs are those of the profile.
    """
    is_contaminated = (repetitions["interference"] == INTERFERENCE) | repetitions["throttled"].astype("bool")
    contaminated = repetitions.loc[is_contaminated, list(RUN)]
    of_operators = of_profile(profile, file, contaminated) if len(profile) else DataSet()
    listed = set(of_operators.lists["list_id"])
    found = recorded(repetitions, file, listed)
    measured = found.networks["list_id"].isin(list(of_operators.networks["list_id"])) & (
        found.networks["list_id"] != ""
    )
    runs = DataSet(found.operators, found.networks[~measured], flaws=_flaws(file, "run", found.left_out))
    return merged(of_operators, cleaned(runs))


def _flaws(file: str, what: str, left_out: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(f"{file}: {plural(count, what)} left out ({reason})" for reason, count in left_out.items())
