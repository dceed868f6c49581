"""Load the devices that predictions know: the shipped ones, those of the workspace, and measured peaks."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from hpcbench.config.devices.load import load_devices
from hpcbench.predict.devices.device import Device
from hpcbench.predict.devices.known import KnownDevices
from hpcbench.store.machine_peaks import node_type, read_peaks
from hpcbench.store.workspace import Workspace
from hpcbench.util.console import print_warning


def known_devices(workspace: Workspace, fitted: Mapping[str, Device] = MappingProxyType({})) -> KnownDevices:
    """Return the devices of a workspace: the files in configs/devices, and the peaks in results/.machines.

    `fitted` are the devices that fitted models describe.

    Raise UserError if a device file is not valid. Peaks that cannot be read are omitted, with a warning.
    """
    machines = read_peaks(workspace, print_warning)
    by_type = {node_type(machine): machine for machine in machines}
    return KnownDevices(load_devices(workspace.device_files), by_type, fitted)
