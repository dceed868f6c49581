"""Sums of networks from models that have not seen their operators, for the calibration of intervals.

A network whose operators were all measured is the sum of measured times. Its error does not apply to a network
that was not profiled. Each network is therefore left out once, with all measured operators that are in its list.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.measured.similar_operators import similar_times
from hpcbench.predict.networks.listed.measured import MeasuredTime, keys
from hpcbench.predict.networks.listed.sums import kernel_times, sums
from hpcbench.predict.networks.listed.time_estimator import TimeEstimator
from hpcbench.predict.tables import operators as table


def sums_of_new_networks(
    networks: pd.DataFrame,
    kernels: pd.DataFrame,
    devices: Mapping[str, Device],
    operators: pd.DataFrame,
    times: MeasuredTime,
    others: TimeEstimator,
) -> pd.DataFrame:
    """Return the sums of networks, each from the operators that its list does not have; `others` is without them."""
    names = {devices[name].name for name in times.devices if name in devices}
    own = operators[operators["device"].isin(list(times.devices))]
    of_own = pd.Series(keys(own), index=own.index, dtype="object")
    found = []
    for _, rows in networks.groupby("network", sort=False):
        listed = rows[["device", "threads", "list_id"]].merge(kernels, on="list_id")
        kept = own[~of_own.isin(keys(table.complete(listed)))]
        regular = times.others.with_own(names, kept, devices)
        model = replace(regular, others=similar_times(kept, devices, others))
        asked = rows.reset_index(drop=True)
        found.append(
            sums(asked, kernel_times(asked, kernels, devices, model, times.devices), devices).set_index(rows.index)
        )
    return pd.concat(found).sort_index()
