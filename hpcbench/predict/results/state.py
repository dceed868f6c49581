"""States of a device in which a case is predicted: its default, a clock, or a power limit."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hpcbench.predict.devices.device import GPU, Device

_STEPS = 8  # clocks of a device among which the best one is sought
_LOWEST = 0.4  # of them, as a fraction of the boost clock


@dataclass(frozen=True)
class State:
    """A clock in MHz, or a power limit in W; the default state of a device has neither."""

    clock_mhz: float = math.nan
    power_limit_w: float = math.nan

    @property
    def label(self) -> str:
        """Return `960 MHz` or `200 W`; empty for the default state."""
        if not math.isnan(self.clock_mhz):
            return f"{self.clock_mhz:g} MHz"
        return "" if math.isnan(self.power_limit_w) else f"{self.power_limit_w:g} W"


DEFAULT = State()


def clocks_of(device: Device) -> tuple[State, ...]:
    """Return evenly spaced clocks below the boost clock of a GPU; none if its lowest clock is unknown."""
    if device.kind != GPU or device.lowest_mhz is None:
        return ()
    lowest = max(device.lowest_mhz, _LOWEST * device.boost_mhz)
    step = (device.boost_mhz - lowest) / _STEPS
    return tuple(State(clock_mhz=round(lowest + place * step)) for place in range(_STEPS)) if step > 0 else ()
