"""What limits the time of a network: compute, memory, launches, or the latency of the steps of recurrent layers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.devices.device import Device
from hpcbench.predict.operators.roofline import bounds
from hpcbench.predict.results.table import COMPUTE_BOUND, LATENCY_BOUND, LAUNCH_BOUND, MEMORY_BOUND
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.prediction import Floats


def device_shares(times: pd.DataFrame, devices: Mapping[str, Device]) -> pd.DataFrame:
    """Return shares of the device time of each network, by place: `compute` and `waits`.

    They are the shares of kernels whose larger bound is compute, and of the time steps of recurrent layers, which run
    one after another.
    """
    bound = bounds(table.complete(times), devices)
    by_compute = bound.compute_s > bound.memory_s
    parts = {
        "compute": np.where(by_compute, times["total_s"], 0.0),
        "waits": np.where(times["waits"], times["total_s"], 0.0),
    }
    seconds = times.assign(**parts).groupby("place")[[*parts, "total_s"]].sum()
    return seconds[list(parts)].div(seconds["total_s"], axis=0)


def limit_of(launches: Floats, of_device: pd.DataFrame) -> NDArray[np.object_]:
    """Return what limits the time of each network; empty if it is unknown.

    `launches` is the time of the host as a multiple of that of the device: the limit is `launch` if it is above 1.
    `of_device` has the columns of `device_shares`: the limit is `latency` if `waits` is above 0.5, and otherwise
    compute or memory, whichever has the larger share.
    """
    by_rate = np.where(of_device["compute"] >= 0.5, COMPUTE_BOUND, MEMORY_BOUND)
    found = np.where(launches > 1.0, LAUNCH_BOUND, np.where(of_device["waits"] > 0.5, LATENCY_BOUND, by_rate))
    return np.where(of_device["compute"].isna(), "", found).astype(object)
