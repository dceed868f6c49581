"""The clocks and power limits that a device has, so that no prediction is for a state that it cannot be in."""

from __future__ import annotations

from hpcbench.errors import UserError
from hpcbench.predict.devices.device import Device

_ROUNDING_MHZ = 1.0  # drivers round clocks to whole steps
# Of the board power, without a known lowest power limit: no described GPU accepts a lower one.
_LEAST_LIMIT = 0.2


def check_clock_mhz(device: Device, clock_mhz: float) -> float:
    """Return a clock in MHz. Raise UserError if it is not between the lowest and the boost clock of the device.

    A device without a known lowest clock is checked against 0.
    """
    _check(device, "clock", clock_mhz, device.lowest_mhz, device.boost_mhz, "MHz", _ROUNDING_MHZ)
    return clock_mhz


def check_power_limit_w(device: Device, limit_w: float) -> float:
    """Return a power limit in W. Raise UserError if it is not between the lowest one and the board power.

    A device without a known lowest limit is checked against a fifth of the board power, below which no described
    device has its own.
    """
    lowest = device.lowest_power_limit_w or _LEAST_LIMIT * device.board_power_w
    _check(device, "power limit", limit_w, lowest, device.board_power_w, "W", 0.0)
    return limit_w


def _check(
    device: Device, what: str, value: float, lowest: float | None, highest: float, unit: str, rounding: float
) -> None:
    low = lowest or 0.0
    if value > 0 and low - rounding <= value <= highest + rounding:
        return
    span = f"from {low:g} to {highest:g} {unit}" if lowest else f"up to {highest:g} {unit}"
    raise UserError(f"'{device.name}' does not have a {what} of {value:g} {unit}", hint=f"use one {span}")
