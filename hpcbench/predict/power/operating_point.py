"""The clock that a device settles at: the highest one, up to the requested one, whose power is within the limit.

The power depends on the time, and the time on the clock, so that this is a fixed point. Power grows with the clock,
which makes it unique; bisection finds it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hpcbench.predict.devices.device import Device
from hpcbench.predict.tables.prediction import Floats

LOWEST_CLOCK = 0.15  # of the boost clock, of all devices: the lowest one to which a power limit leads
_HALVINGS = 30


@dataclass(frozen=True)
class OperatingPoint:
    """Clock as a fraction of the boost clock, time in seconds, and power as a fraction of the board power."""

    clock: Floats
    time_s: Floats
    power: Floats


def settle(
    time_at: Callable[[Floats], Floats],
    power_at: Callable[[Floats, Floats], Floats],
    requested: Floats,
    limit: Floats,
    lowest: float = LOWEST_CLOCK,
) -> OperatingPoint:
    """Return the operating points of rows for requested clocks and power limits.

    `time_at` gives the time for clocks, and `power_at` the power for times and clocks, as fractions of the board power
    like `limit`. If even the clock `lowest` exceeds the limit, the device stays at this clock.
    """
    high = np.asarray(requested, dtype="float64")
    within = power_at(time_at(high), high) <= limit
    bottom, top = np.minimum(lowest, high), high
    for _ in range(_HALVINGS):
        middle = (bottom + top) / 2
        fits = power_at(time_at(middle), middle) <= limit
        bottom, top = np.where(fits, middle, bottom), np.where(fits, top, middle)
    clock = np.where(within, high, bottom)
    time_s = time_at(clock)
    return OperatingPoint(clock, time_s, power_at(time_s, clock))


def lowest_clock(device: Device) -> float:
    """Return the lowest clock of a device as a fraction of its boost clock: LOWEST_CLOCK if it is unknown."""
    return LOWEST_CLOCK if device.lowest_mhz is None else device.lowest_mhz / device.boost_mhz
