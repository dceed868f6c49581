"""The clock that a device settles at: the highest one, up to the requested one, whose power is within the limit.

The power depends on the time, and the time on the clock, so that this is a fixed point. Power grows with the clock,
which makes it unique; bisection finds it.

If the power at the lowest clock exceeds the limit, the device throttles: it skips pulses of this clock. Its effective
clock then falls below the lowest one, at the same voltage, while idle power remains. A device cannot keep a limit below
its idle power.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hpcbench.predict.devices.device import Device
from hpcbench.predict.tables.prediction import Floats

OUT_OF_REACH = "the power limit is below the predicted idle power"
LOWEST_CLOCK = 0.15  # of the boost clock, if the lowest clock of a device is unknown
_SLOWEST = 1e-3  # effective clock of a throttled device, of the boost clock: its power is about that of an idle device
_HALVINGS = 30


@dataclass(frozen=True)
class OperatingPoint:
    """Effective clock as a fraction of the boost clock, time in seconds, and power as a fraction of the board power.

    `in_reach` is whether the device can keep the limit. If it cannot, it stays at its lowest clock.
    """

    clock: Floats
    time_s: Floats
    power: Floats
    in_reach: NDArray[np.bool_]


def settle(
    time_at: Callable[[Floats], Floats],
    power_at: Callable[[Floats, Floats], Floats],
    requested: Floats,
    limit: Floats,
    lowest: float = LOWEST_CLOCK,
) -> OperatingPoint:
    """Return the operating points of rows for requested clocks and power limits.

    `time_at` gives the time for clocks, and `power_at` the power for times and clocks, as fractions of the board power
    like `limit`. The device throttles if its power at the clock `lowest` exceeds the limit.
    """

    def fits(clock: Floats) -> NDArray[np.bool_]:
        return power_at(time_at(clock), clock) <= limit

    def highest(bottom: Floats, top: Floats) -> Floats:
        for _ in range(_HALVINGS):
            middle = (bottom + top) / 2
            fitting = fits(middle)
            bottom, top = np.where(fitting, middle, bottom), np.where(fitting, top, middle)
        return bottom

    high = np.asarray(requested, dtype="float64")
    slow = np.minimum(lowest, high)
    clock = np.where(fits(high), high, highest(slow, high))
    throttles = ~fits(clock)
    if throttles.any():
        effective = highest(np.minimum(_SLOWEST, slow), slow)
        clock = np.where(throttles & fits(effective), effective, clock)
    time_s = time_at(clock)
    return OperatingPoint(clock, time_s, np.minimum(power_at(time_s, clock), limit), fits(clock))


def lowest_clock(device: Device) -> float:
    """Return the lowest clock of a device as a fraction of its boost clock: LOWEST_CLOCK if it is unknown."""
    return LOWEST_CLOCK if device.lowest_mhz is None else device.lowest_mhz / device.boost_mhz
