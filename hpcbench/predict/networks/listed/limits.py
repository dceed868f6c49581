"""What limits the time of a network: products and vectors, memory, launches, or the latency of steps that wait."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.operators.roofline import bounds
from hpcbench.predict.tables import operators as table
from hpcbench.predict.tables.prediction import Floats

COMPUTE, MEMORY, LAUNCH, LATENCY = "compute", "memory", "launch", "latency"


def limits(times: pd.DataFrame, launches: Floats, devices: Mapping[str, Device]) -> pd.DataFrame:
    """Return one row per network: the shares `compute` and `memory` of the device time, and the `limit`.

    A kernel counts for the larger one of its bounds. `launches` is the time of the host as a multiple of that of the
    device, one per network: the limit is `launch` if it is above 1. Otherwise, it is `latency` if over half of the time
    is that of steps of recurrent layers, which wait for each other, and if not, the resource with the larger share.
    """
    bound = bounds(table.complete(times), devices)
    by_compute = bound.compute_s > bound.memory_s
    parts = {name: np.where(of, times["total_s"], 0.0) for name, of in (("c", by_compute), ("w", times["waits"]))}
    seconds = times.assign(**parts).groupby("place")[["c", "w", "total_s"]].sum()
    found = seconds.reindex(pd.RangeIndex(len(launches)))
    compute, waits = found["c"] / found["total_s"], found["w"] / found["total_s"]
    by_device = np.where(waits > 0.5, LATENCY, np.where(compute >= 0.5, COMPUTE, MEMORY))
    limit = np.where(launches > 1.0, LAUNCH, by_device)
    return pd.DataFrame({"compute": compute, "memory": 1.0 - compute, "limit": np.where(compute.isna(), "", limit)})
