"""The time of a step over clocks, from its activity.

    device time = (a product + b vector_product + c row_wise + d kernels) / f + e row_wise
    time = (device time^q + (host kernels)^q)^(1/q)

f is the clock as a fraction of the boost clock. Products and on-chip traffic scale with 1/f, memory traffic with the
memory's own clock, and the host's launches with neither. The slower of device and host decides, softly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hpcbench.predict.networks.launch_time import LAUNCH_S
from hpcbench.predict.power.least_squares import relative
from hpcbench.predict.tables.networks import EAGER
from hpcbench.predict.tables.prediction import Floats

PER_KERNEL_S = 4e-6  # the unit of the coefficient of kernels
# Coefficients without any data, from the public sets that docs/reference/predictor-data.md documents.
PRIOR = np.array([1.15, 0.9, 0.9, 1.0, 0.65])
# Seconds per kernel of a host without data: rounded, from the public set with several clocks, whose fit has 37 us.
TYPICAL_HOST_S = 35e-6
_HOSTS_S = np.geomspace(5e-6, 150e-6, 28)  # those that a fit tries
_HOST_DOUBT = 0.02  # cost of a host time that is e times the typical one, as a mean error of logarithms: an assumption
_SHARPNESS = 8.0  # q: an assumption
_BOUND_BY_DEVICE = 1.3  # rows whose time is this many times the host's fit the device's coefficients: an assumption


@dataclass(frozen=True)
class StepTime:
    """Coefficients of the parts, and seconds of the host per kernel."""

    coefficients: Floats
    host_s: float

    def seconds(self, activity: pd.DataFrame, clock: Floats, launches: Floats | None = None) -> Floats:
        """Return the time of a step in seconds at clocks that are fractions of the boost clock.

        `launches` has the time of the host as a multiple of that of the device at the boost clock, as the model of
        listed networks predicts it. It decides which of them is slower. A host that is slower in `host_s` than in that
        model remains the slower one down to lower clocks. Rows with NaN have the launches of `host_s` alone.
        """
        device, host = self._device_s(activity, clock), self._launches_s(activity)
        if launches is not None:
            given = np.where(launches > 1.0, launches * max(1.0, self.host_s / LAUNCH_S[EAGER]), launches)
            host = np.where(np.isnan(given), host, given * self._device_s(activity, np.ones(len(activity))))
        return (device**_SHARPNESS + host**_SHARPNESS) ** (1 / _SHARPNESS)

    def is_launch_bound(self, activity: pd.DataFrame) -> NDArray[np.bool_]:
        """Return whether the host launches kernels more slowly than the device computes them at the boost clock."""
        return np.asarray(self._launches_s(activity) > self._device_s(activity, np.ones(len(activity))))

    def _device_s(self, activity: pd.DataFrame, clock: Floats) -> Floats:
        found: Floats = parts(activity, clock) @ self.coefficients
        return found

    def _launches_s(self, activity: pd.DataFrame) -> Floats:
        return self.host_s * activity["kernels"].to_numpy(dtype="float64")


TYPICAL = StepTime(PRIOR, TYPICAL_HOST_S)


def parts(activity: pd.DataFrame, clock: Floats) -> Floats:
    """Return the parts of the device time in seconds, one column per coefficient."""
    on_chip = ("product_s", "vector_product_s", "row_wise_s")
    scaled = [activity[name].to_numpy(dtype="float64") / clock for name in on_chip]
    launches = activity["kernels"].to_numpy(dtype="float64") * PER_KERNEL_S / clock
    return np.column_stack([*scaled, launches, activity["row_wise_s"].to_numpy(dtype="float64")])


def fit(activity: pd.DataFrame, time_s: Floats, clock: Floats, weights: Floats, strength: float) -> StepTime:
    """Return the coefficients for measured steps, and the host's time per kernel with the least error of all steps."""
    kernels = activity["kernels"].to_numpy(dtype="float64")
    matrix = parts(activity, clock)
    candidates = [_with_host(matrix, kernels, time_s, weights, strength, host) for host in _HOSTS_S]
    return min(candidates, key=lambda each: _cost(each, activity, time_s, clock, weights))


def _with_host(
    matrix: Floats, kernels: Floats, time_s: Floats, weights: Floats, strength: float, host: float
) -> StepTime:
    by_device = time_s > _BOUND_BY_DEVICE * host * kernels
    if not by_device.any():
        return StepTime(PRIOR, float(host))
    found = relative(matrix[by_device], time_s[by_device], PRIOR, strength, weights[by_device])
    return StepTime(found, float(host))


def _cost(each: StepTime, activity: pd.DataFrame, time_s: Floats, clock: Floats, weights: Floats) -> float:
    error = np.abs(np.log(time_s / each.seconds(activity, clock)))
    return float(np.average(error, weights=weights)) + _HOST_DOUBT * abs(float(np.log(each.host_s / TYPICAL_HOST_S)))
