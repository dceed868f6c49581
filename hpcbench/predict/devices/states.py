"""The clocks and power limits that a device has, so that no prediction is for a state that it cannot be in."""

from __future__ import annotations

from hpcbench.errors import UserError
from hpcbench.predict.devices.device import Device

_ROUNDING_MHZ = 1.0  # drivers round clocks to whole steps
# Of the boost clock, without a known lowest clock: no described GPU has a higher lowest clock.
LEAST_CLOCK = 0.2
# Of the board power, without a known lowest power limit: no described GPU accepts a lower one.
_LEAST_LIMIT = 0.2


def check_clock_mhz(device: Device, clock_mhz: float) -> float:
    """Return a clock in MHz. Raise UserError if it is not between the lowest and the boost clock of the device.

    A device without a known lowest clock is checked against a fifth of the boost clock, which all described devices
    with a known one support.
    """
    lowest = device.lowest_mhz or LEAST_CLOCK * device.boost_mhz
    is_known = device.lowest_mhz is not None
    _check(device, "clock", clock_mhz, lowest, device.boost_mhz, "MHz", _ROUNDING_MHZ, is_known=is_known)
    return clock_mhz


def check_power_limit_w(device: Device, limit_w: float) -> float:
    """Return a power limit in W. Raise UserError if it is not between the lowest one and the board power.

    A device without a known lowest limit is checked against a fifth of the board power, below which no described
    device has its own.
    """
    lowest = device.lowest_power_limit_w or _LEAST_LIMIT * device.board_power_w
    is_known = device.lowest_power_limit_w is not None
    _check(device, "power limit", limit_w, lowest, device.board_power_w, "W", 0.0, is_known=is_known)
    return limit_w


def _check(
    device: Device,
    what: str,
    value: float,
    lowest: float,
    highest: float,
    unit: str,
    rounding: float,
    *,
    is_known: bool,
) -> None:
    if value > 0 and lowest - rounding <= value <= highest + rounding:
        return
    why = "" if is_known or value > highest else f" (the lowest {what} of this device is unknown)"
    hint = f"use one from {lowest:g} to {highest:g} {unit}{why}"
    raise UserError(f"'{device.name}' does not have a {what} of {value:g} {unit}", hint=hint)
