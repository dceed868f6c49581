"""What limits the time of a network: the rate of products and vectors, the memory, or the launches of the host."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.devices.device import Device
from hpcbench.predict.operators.roofline import bounds
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.prediction import Floats

COMPUTE, MEMORY, LAUNCH = "compute", "memory", "launch"


def compute_shares(times: pd.DataFrame, devices: Mapping[str, Device]) -> pd.Series[float]:
    """Return the share of the device time of each network, by place, in kernels whose larger bound is compute."""
    bound = bounds(table.complete(times), devices)
    by_compute = bound.compute_s > bound.memory_s
    seconds = times.assign(_compute=np.where(by_compute, times["total_s"], 0.0)).groupby("place")
    found = seconds[["_compute", "total_s"]].sum()
    return found["_compute"] / found["total_s"]


def limit_of(launches: Floats, compute: pd.Series[float]) -> NDArray[np.object_]:
    """Return what limits the time of each network; empty if it is unknown.

    `launches` is the time of the host as a multiple of that of the device: the limit is `launch` if it is above 1,
    otherwise compute or memory, whichever has the larger share of the device time.
    """
    of_device = np.where(compute >= 0.5, COMPUTE, MEMORY)
    return np.where(compute.isna(), "", np.where(launches > 1.0, LAUNCH, of_device)).astype(object)
