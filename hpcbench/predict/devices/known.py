"""The devices that can be predicted: described ones, with the peaks that were measured, and measured nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from hpcbench.config.devices.reported_names import plain
from hpcbench.config.devices.table import DeviceTable
from hpcbench.core.machine_peaks import MachinePeaks
from hpcbench.errors import UserError
from hpcbench.predict.devices.described import described
from hpcbench.predict.devices.device import CPU, GPU, Device
from hpcbench.predict.devices.measured import measured_cpus, with_measured_gpu


@dataclass(frozen=True)
class KnownDevices:
    """The table of described devices, and the measured peaks of machines by their types of nodes.

    `fitted` are the devices of fitted models, by each of their names: they are found if nothing else has their name.
    """

    table: DeviceTable
    machines: Mapping[str, MachinePeaks]
    fitted: Mapping[str, Device] = field(default_factory=dict)

    def find(self, name: str, kind: str | None = None) -> Device:
        """Return the device of a name: of a description, a node or a type of node, or as tools report it.

        `kind` is the device of a node: its GPU or its CPUs; by default its GPU if it has one. Raise UserError if the
        name is unknown, or if the description of the node is incomplete.
        """
        machine = self._machine(name)
        if machine is not None:
            return self._of_node(name, machine, kind or (GPU if machine.gpu_model else CPU))
        machine = None if name in self.table.descriptions else self._with_cpus(name)
        if machine is not None:
            return self._of_node(name, machine, CPU)
        short = self.table.short_name(name)
        if short is not None:
            return self._of_sheet(short)
        own = self._fitted(name)
        if own is not None:
            return own
        raise self._not_found([name])

    def check(self, names: Iterable[str]) -> None:
        """Raise UserError, which names all of them, if names are unknown."""
        unknown = [name for name in names if not self._knows(name)]
        if unknown:
            raise self._not_found(unknown)

    def is_node_with_gpu(self, name: str) -> bool:
        """Return whether a name is that of a node, or type of node, with a GPU, of which its CPUs can be asked for."""
        machine = self._machine(name)
        return machine is not None and machine.gpu_model is not None

    def nodes(self, host: str) -> list[str]:
        """Return the measured types of nodes: that of a host if it was measured, otherwise all."""
        own = [name for name, machine in self.machines.items() if host in machine.hosts]
        return own or list(self.machines)

    def all(self) -> list[Device]:
        """Return the described devices by name, then the CPUs of the types of nodes whose peaks are sufficient."""
        nodes = [self._cpus(name, machine) for name, machine in sorted(self.machines.items())]
        return [*map(self._of_sheet, sorted(self.table)), *(device for device in nodes if device is not None)]

    def _cpus(self, name: str, machine: MachinePeaks) -> Device | None:
        """Return the CPUs of a machine; None if a value is neither measured nor described."""
        try:
            return self._of_node(name, machine, CPU)
        except UserError:
            return None

    def _of_sheet(self, name: str) -> Device:
        """Return a described device, with the peaks of the first machine that has this GPU."""
        device = described(name, self.table.descriptions[name])
        if device.kind == CPU:
            return device
        models = {plain(each) for each in device.names}
        own = (
            machine for machine in self.machines.values() if machine.gpu_model and plain(machine.gpu_model) in models
        )
        return next((with_measured_gpu(device, machine) for machine in own), device)

    def _of_node(self, name: str, machine: MachinePeaks, kind: str) -> Device:
        if kind == CPU:
            short = self.table.short_name(machine.cpu_model)
            sheet = None if short is None else described(short, self.table.descriptions[short])
            others = (described(each, self.table.descriptions[each]) for each in self.table)
            return measured_cpus(name, machine, sheet, others)
        if machine.gpu_model is None:
            raise UserError(f"node '{name}' has no GPU", hint="predict on its CPUs: --set parameters.device=cpu")
        short = self.table.short_name(machine.gpu_model)
        if short is None:
            what = f"the GPU '{machine.gpu_model}' of '{name}' has no description"
            names = f"names: [{machine.gpu_model}]"
            raise UserError(
                what, hint=f"describe it in a file in configs/devices, with {names}: docs/reference/devices.md"
            )
        return with_measured_gpu(described(short, self.table.descriptions[short]), machine)

    def _knows(self, name: str) -> bool:
        found = self.table.short_name(name) or self._machine(name) or self._with_cpus(name) or self._fitted(name)
        return found is not None

    def _not_found(self, names: Sequence[str]) -> UserError:
        return self.table.not_found(names, [*self.machines, *self._hosts(), *self.fitted])

    def _fitted(self, name: str) -> Device | None:
        return next((device for each, device in self.fitted.items() if plain(each) == plain(name)), None)

    def _machine(self, name: str) -> MachinePeaks | None:
        """Return the machine of a node or a type of nodes."""
        if name in self.machines:
            return self.machines[name]
        return next((machine for machine in self.machines.values() if name in machine.hosts), None)

    def _with_cpus(self, model: str) -> MachinePeaks | None:
        """Return the machine with this model of CPUs."""
        return next((each for each in self.machines.values() if plain(each.cpu_model) == plain(model)), None)

    def _hosts(self) -> Iterator[str]:
        for machine in self.machines.values():
            yield from machine.hosts
