"""The devices of `--device`, and the clocks and power limits at which they are predicted."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import click

from hpcbench.errors import UserError
from hpcbench.predict.devices.device import CPU, GPU, Device
from hpcbench.predict.devices.known import KnownDevices
from hpcbench.predict.devices.states import check_clock_mhz, check_power_limit_w
from hpcbench.predict.results.state import State, clocks_of, limits_of

MOST_NAMES = 4  # in a hint, the newest devices first
_KINDS = {CPU: "CPUs", GPU: "GPU"}


@dataclass(frozen=True)
class AskedDevices:
    """Devices by the names that the user gave, and the states of each.

    `only` has the kind of cases, `cpu` or `gpu`, of names that stand for one device of a node with both.
    """

    devices: Mapping[str, Device]
    states: Mapping[str, tuple[State, ...]]
    shown: frozenset[str]  # labels of the states that the user asked for
    only: Mapping[str, str] = field(default_factory=dict)


def numbers(hint: str) -> Callable[[click.Context, click.Parameter, str | None], tuple[float, ...]]:
    """Return the callback of an option with numbers, which commas separate. `hint` has their unit and an example.

    The callback raises UserError if one is not a number.
    """

    def read(_: click.Context, option: click.Parameter, text: str | None) -> tuple[float, ...]:
        try:
            return tuple(float(each) for each in text.split(",")) if text is not None else ()
        except ValueError as error:
            what = f"'{text}' is not a number, or several separated by commas"
            raise UserError(what, where=option.opts[0], hint=hint) from error

    return read


def asked_devices(
    names: Sequence[str],
    known: KnownDevices,
    kinds: Collection[str],
    host: str,
    clocks_mhz: Sequence[float],
    limits_w: Sequence[float],
    *,
    search_states: bool,
) -> AskedDevices:
    """Return the devices with these names, and their states.

    `kinds` are those of the devices that the cases run on, `cpu` or `gpu`: they determine the device of a node with
    both; without kinds, it is the GPU. Without names, the devices are those of the measured node `host`, otherwise of
    all measured nodes. Several names of one device count once. Without clocks and limits, `search_states` adds clocks
    of each GPU, and power limits of those whose lowest one is known. Raise UserError for unknown devices, for states
    that a device does not have, and if there is no device.
    """
    wanted = names or known.nodes(host)
    if not wanted:
        years = {name: known.table.descriptions[name].year for name in known.table}
        shown = ",".join(sorted(years, key=lambda name: -years[name])[:MOST_NAMES])
        hint = f"name devices, e.g. --device {shown}\nto list all of them: hpcbench list devices"
        what = "no device is given, and `hpcbench doctor` has measured no node of this workspace"
        raise UserError(what, where="--device", hint=hint)
    known.check(wanted)
    devices: dict[str, Device] = {}
    only: dict[str, str] = {}
    for name in wanted:
        if kinds and known.is_node_with_gpu(name):
            found = {_label(name, kind, kinds): kind for kind in sorted(kinds)}
            devices |= {label: known.find(name, kind) for label, kind in found.items()}
            only |= found
        elif (device := known.find(name)) not in devices.values():
            devices[name] = device
    given = (*(State(clock_mhz=each) for each in clocks_mhz), *(State(power_limit_w=each) for each in limits_w))
    for device in devices.values():
        for clock in clocks_mhz:
            check_clock_mhz(device, clock)
        for limit in limits_w:
            check_power_limit_w(device, limit)
    searched = search_states and not given
    states = {name: (*clocks_of(each), *limits_of(each)) if searched else given for name, each in devices.items()}
    return AskedDevices(devices, states, frozenset(state.label for state in given), only)


def _label(name: str, kind: str, kinds: Collection[str]) -> str:
    """Return the name of a device of a node: its kind is added if cases run on both."""
    return name if len(kinds) == 1 else f"{name} ({_KINDS[kind]})"
