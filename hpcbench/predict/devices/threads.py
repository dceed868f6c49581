"""CPUs that compute with fewer threads than they have cores.

The rates that fewer cores reach are those that `hpcbench doctor` measured on 1, 2, 4 and so on up to all cores, with
linear interpolation between them. If these are lower than the proportional share of all cores, they are this share.
Without measurements, FLOP/s are proportional to the cores. The bandwidth is reached by a fraction of the cores, since
one core can have more than its share of the memory requests in flight [1]; here, a quarter.

[1] J. Treibig and G. Hager, "Introducing a performance model for bandwidth-limited loop kernels", PPAM 2009.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import CPU, Device
from hpcbench.predict.tables.prediction import Floats

_CORES_AT_BANDWIDTH = 0.25  # fraction of the cores that reach the bandwidth, without measurements


def thread_fractions(rows: pd.DataFrame, devices: Mapping[str, Device]) -> tuple[Floats, Floats]:
    """Return which fractions of FLOP/s and bandwidth of its device each row reaches with its number of `threads`.

    They are 1 for GPUs, unknown devices, rows without a number of threads, and at least as many threads as cores.
    """
    compute, memory = np.ones(len(rows)), np.ones(len(rows))
    if "threads" not in rows:
        return compute, memory
    threads = pd.to_numeric(rows["threads"], errors="coerce").to_numpy(dtype="float64")
    for name, places in rows.groupby("device", sort=False).indices.items():
        device = devices.get(str(name))
        if device is not None and device.kind == CPU:
            compute[places], memory[places] = _fractions(device, threads[places])
    return compute, memory


def cores_used(device: Device, threads: Floats) -> Floats:
    """Return the cores of CPUs that each number of threads uses: all of them for NaN, and at most all of them."""
    return np.clip(np.where(np.isnan(threads), device.units, threads), 1, device.units)


def _fractions(device: Device, threads: Floats) -> tuple[Floats, Floats]:
    used = cores_used(device, threads)
    cores = [0.0, *(float(each.cores) for each in device.scaling)]
    rates = [0.0, *(each.flops_per_s for each in device.scaling)]
    moved = [0.0, *(each.bytes_per_s for each in device.scaling)]
    share = used / device.units
    measured = len(device.scaling) > 1
    compute = np.interp(used, cores, rates) / rates[-1] if measured else share
    memory = np.interp(used, cores, moved) / moved[-1] if measured and moved[-1] else share / _CORES_AT_BANDWIDTH
    # A core is not slower alone than next to others. If its measured rates are lower, other processes slowed it down.
    return np.clip(compute, share, 1.0), np.clip(memory, share, 1.0)
