"""What limits the time of a network: the rate of products and vectors, the memory, or the launches of the host."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.operators.roofline import bounds
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.prediction import Floats

COMPUTE, MEMORY, LAUNCH = "compute", "memory", "launch"


def limits(times: pd.DataFrame, launches: Floats, devices: Mapping[str, Device]) -> pd.DataFrame:
    """Return one row per network: the shares `compute` and `memory` of the device time, and the `limit`.

    A kernel counts for the larger one of its bounds. `launches` is the time of the host as a multiple of that of the
    device, one per network: the limit is `launch` if it is above 1, otherwise the resource with the larger share.
    """
    bound = bounds(table.complete(times), devices)
    by_compute = bound.compute_s > bound.memory_s
    seconds = times.assign(_compute=np.where(by_compute, times["total_s"], 0.0)).groupby("place")
    found = seconds[["_compute", "total_s"]].sum().reindex(pd.RangeIndex(len(launches)))
    compute = found["_compute"] / found["total_s"]
    limit = np.where(launches > 1.0, LAUNCH, np.where(compute >= 0.5, COMPUTE, MEMORY))
    return pd.DataFrame({"compute": compute, "memory": 1.0 - compute, "limit": np.where(compute.isna(), "", limit)})
