"""The device on which each case of a sweep will run: a named one, that of this machine, or that of its partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hpcbench.core.run_spec import COMMAND
from hpcbench.errors import UserError
from hpcbench.plan.case import Case
from hpcbench.predict.devices.device import CPU, GPU, Device
from hpcbench.predict.devices.known import KnownDevices

if TYPE_CHECKING:
    from hpcbench.doctor.this_machine import ThisMachine

OPTION = "--predict-device"
NAME_ONE = f"name a device: {OPTION} NAME; to list them: hpcbench list devices"
_WORDS = {CPU: "CPU", GPU: "GPU"}

Find = Callable[[Case], Device]
"""Returns the device of a case. Raises UserError if it is unknown."""


@dataclass(frozen=True)
class CaseDevices:
    """The names of the devices of cases, by case ID, the devices by name, and for other cases why it is unknown.

    Commands have neither.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    devices: Mapping[str, Device] = field(default_factory=dict)
    unknown: Mapping[str, UserError] = field(default_factory=dict)


def kind_of(case: Case) -> str:
    """Return the kind of device that computes a case: `gpu` or `cpu`."""
    return GPU if case.parameters.device == GPU else CPU


def devices_of(cases: Iterable[Case], find: Find) -> CaseDevices:
    """Return the devices of cases, which `find` returns for each of them.

    Raise UserError if the device of every case that is not a command is unknown: nothing could be predicted.
    """
    names: dict[str, str] = {}
    devices: dict[str, Device] = {}
    unknown: dict[str, UserError] = {}
    for case in cases:
        if case.parameters.framework == COMMAND:
            continue
        try:
            device = find(case)
        except UserError as error:
            unknown[case.id] = error
            continue
        names[case.id] = device.name
        devices[device.name] = device
    if unknown and not names:
        raise next(iter(unknown.values()))
    return CaseDevices(names, devices, unknown)


def named(names: Sequence[str], known: KnownDevices) -> Find:
    """Return how to find the first of the named devices that is of the kind of a case; a name may be of a node.

    Raise UserError if a name is unknown.
    """
    known.check(names)
    for name in names:
        _check(name, known)

    def find(case: Case) -> Device:
        kind = kind_of(case)
        errors = []
        for name in names:
            try:
                device = known.find(name, kind)
            except UserError as error:
                errors.append(error)
                continue
            if device.kind == kind:
                return device
        if errors:
            raise errors[0]
        what = f"no device of '{','.join(names)}' is a {_WORDS[kind]}, but cases have device: {kind}"
        raise UserError(what, where=OPTION, hint=NAME_ONE)

    return find


def _check(name: str, known: KnownDevices) -> None:
    """Raise UserError if a name is unknown as a GPU and as CPUs."""
    try:
        known.find(name, GPU)
    except UserError:
        known.find(name, CPU)


def of_machine(machine: ThisMachine, known: KnownDevices) -> Find:
    """Return how to find the CPUs or the GPU of a machine: as measured, otherwise by the names of their models."""
    models = {name: (each.cpu_model, each.cpu_count, each.gpu_model) for name, each in known.machines.items()}
    node = next((name for name, each in models.items() if each == machine), None)

    def find(case: Case) -> Device:
        kind = kind_of(case)
        if kind == GPU and machine.gpu_model is None:
            raise UserError("no GPU was found on this machine", where="--predict", hint=NAME_ONE)
        model = machine.gpu_model if kind == GPU else machine.cpu_model
        try:
            return known.find(node or str(model), kind)
        except UserError as error:
            what = f"the {_WORDS[kind]} of this machine, '{model}', has no description"
            hint = f"measure it: hpcbench doctor\nor {NAME_ONE}"
            raise UserError(what if node is None else error.what, where="--predict", hint=hint) from error

    return find
