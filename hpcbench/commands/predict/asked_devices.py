"""The devices of `--device`, and the clocks and power limits at which they are predicted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click

from hpcbench.errors import UserError
from hpcbench.predict.devices.device import Device
from hpcbench.predict.devices.known import KnownDevices
from hpcbench.predict.devices.states import check_clock_mhz, check_power_limit_w
from hpcbench.predict.results.state import State, clocks_of, limits_of

MOST_NAMES = 8


@dataclass(frozen=True)
class AskedDevices:
    """Devices by the names that the user gave, and the states of each."""

    devices: dict[str, Device]
    states: dict[str, tuple[State, ...]]
    shown: frozenset[str]  # labels of the states that the user asked for


def numbers(_: click.Context, option: click.Parameter, text: str | None) -> tuple[float, ...]:
    """Return the numbers of an option, which commas separate. Fail if one is not a number."""
    try:
        return tuple(float(each) for each in text.split(",")) if text else ()
    except ValueError as error:
        raise click.BadParameter(f"'{text}' is not a number, or several with commas", param=option) from error


def asked_devices(
    names: str | None,
    known: KnownDevices,
    clocks_mhz: Sequence[float],
    limits_w: Sequence[float],
    *,
    search_states: bool,
) -> AskedDevices:
    """Return the devices with these names, which commas separate, and their states.

    Without clocks and limits, `search_states` adds several clocks and power limits of each GPU whose lowest ones are
    known. Raise UserError for unknown devices, for states that a device does not have, and without names.
    """
    wanted = list(dict.fromkeys(name.strip() for name in (names or "").split(",") if name.strip()))
    if not wanted:
        shown = ", ".join(list(known.table)[:MOST_NAMES])
        hint = f"name devices, e.g. --device {shown}\nto see all of them: hpcbench list devices"
        raise UserError("no device is given", where="--device", hint=hint)
    devices = {name: known.find(name) for name in wanted}
    given = (*(State(clock_mhz=each) for each in clocks_mhz), *(State(power_limit_w=each) for each in limits_w))
    for device in devices.values():
        for clock in clocks_mhz:
            check_clock_mhz(device, clock)
        for limit in limits_w:
            check_power_limit_w(device, limit)
    searched = search_states and not given
    found = {name: (*clocks_of(each), *limits_of(each)) if searched else given for name, each in devices.items()}
    return AskedDevices(devices, found, frozenset(state.label for state in given))
