"""Times of networks from sums of their operators and the ratio of whole networks to such sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from hpcbench.predict.devices.device import Device
from hpcbench.predict.networks.listed import targets
from hpcbench.predict.networks.listed.ratio import SumRatio, design
from hpcbench.predict.tables.prediction import Estimate, Floats


@dataclass(frozen=True)
class ListedEstimate(Estimate):
    """Times of networks. `launches` is the time of the host as a multiple of that of the device, NaN if unknown."""

    launches: Floats


def log_times(
    networks: pd.DataFrame, sums: pd.DataFrame, ratio: SumRatio, quantity: str, devices: Mapping[str, Device]
) -> tuple[Floats, Floats]:
    """Return the logarithms of the times in seconds of the device and of the host.

    A device executes kernels while the host launches the next ones, so that the longer of both queues determines the
    time. Networks without kernels of this quantity have a device time of NaN.
    """
    log_sums, rows = log_sums_and_design(networks, sums, quantity, devices)
    with np.errstate(divide="ignore"):
        host = np.log(targets.host_time(sums, quantity))
    return log_sums + ratio.log_ratio(rows), host


def log_sums_and_design(
    networks: pd.DataFrame, sums: pd.DataFrame, quantity: str, devices: Mapping[str, Device]
) -> tuple[Floats, pd.DataFrame]:
    """Return the logarithms of the sums in seconds and the design of the ratio, one row per network."""
    parts = targets.part_times(sums, quantity)
    total = parts.sum(axis=1)
    total = total.where(total > 0)
    return np.log(total.to_numpy()), design(networks, parts.div(total, axis=0).fillna(0.0), devices)
