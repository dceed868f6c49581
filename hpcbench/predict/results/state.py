"""States of a device in which a case is predicted: its default, a clock, or a power limit."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hpcbench.predict.devices.device import GPU, Device
from hpcbench.predict.devices.states import LEAST_CLOCK

_CLOCKS, _LIMITS = 8, 6  # clocks and power limits of a device among which the best ones are sought
_LOWEST = 0.4  # of them, as a fraction of the boost clock or of the board power: a choice


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
    """Return evenly spaced clocks below the boost clock of a GPU.

    If its lowest clock is unknown, the clocks are those of a GPU whose lowest clock is `devices.states.LEAST_CLOCK`.
    """
    lowest = device.lowest_mhz or LEAST_CLOCK * device.boost_mhz
    return tuple(State(clock_mhz=each) for each in _spaced(device, lowest, device.boost_mhz, _CLOCKS))


def limits_of(device: Device) -> tuple[State, ...]:
    """Return evenly spaced power limits below the board power of a GPU; none if its lowest limit is unknown."""
    lowest = device.lowest_power_limit_w
    return tuple(State(power_limit_w=each) for each in _spaced(device, lowest, device.board_power_w, _LIMITS))


def _spaced(device: Device, lowest: float | None, highest: float, count: int) -> list[float]:
    if device.kind != GPU or lowest is None:
        return []
    first = max(lowest, _LOWEST * highest)
    step = (highest - first) / count
    return [round(first + place * step) for place in range(count)] if step > 0 else []
