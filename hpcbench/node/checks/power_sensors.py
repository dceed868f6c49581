"""Power sensors and their readability, checked with the code that the monitor reads them with."""

import os
import stat
from typing import List, Type

from ...core.check_result import NOTE, OK, CheckResult
from ..host.open_files import Files
from ..host.sysfs import System
from ..monitor.processes import OwnProcesses
from ..monitor.sources.amd import AmdEnergy
from ..monitor.sources.base import Absent, HostView, Source
from ..monitor.sources.cray import Cray
from ..monitor.sources.grace import Grace
from ..monitor.sources.nvidia import NvidiaEnergy
from ..monitor.sources.rapl import Rapl

_RAPL, _CRAY = "sys/class/powercap/intel-rapl:*/energy_uj", "sys/cray/pm_counters/*energy"
_GRACE = ("sys/class/hwmon/hwmon*", "sys/class/hwmon/hwmon*/device")  # the latter on older kernels
_NVIDIA, _AMD = "dev/nvidia[0-9]*", "dev/kfd"
_MEANS = "Records do not contain this energy unless Slurm measures it."
_ASK = "Ask the administrators for read access, or for AcctGatherEnergyType in slurm.conf."
_INSTALL = (
    "Install the missing packages in the environment of hpcbench; ask the administrators for access to the driver."
)


def check(system: System) -> List[CheckResult]:
    """Return which power sensors exist, and whether this user may read them."""
    processors = _sensor(system, Cray, "node energy", _CRAY, _ASK) + _sensor(system, Rapl, "CPU energy", _RAPL, _ASK)
    processors += _grace(system)
    gpus = _sensor(system, NvidiaEnergy, "GPU energy", _NVIDIA, _INSTALL)
    return (processors or [_none()]) + gpus + _sensor(system, AmdEnergy, "GPU energy", _AMD, _INSTALL)


def _sensor(system: System, kind: Type[Source], subject: str, files: str, remedy: str) -> List[CheckResult]:
    """Return the result for a kind of sensor; nothing without such a device."""
    there = system.matching(files)
    if not there:
        return []
    try:
        facts = kind(HostView(OwnProcesses("", system.root), Files(), system.root)).facts()
    except Absent as reason:
        return [CheckResult(subject, NOTE, str(reason), _MEANS, remedy)]
    domains = ", ".join(str(meter["domain"]) for meter in facts["meters"])
    return [CheckResult(subject, OK, "%s: %s; readable by %s" % (kind.name, domains, _readers(system, there[0])))]


def _grace(system: System) -> List[CheckResult]:
    """Return the result for the power meters of Grace CPUs. Other servers have power meters with other names."""
    for folder in _GRACE:
        names = [system.text(path) or "" for path in system.matching(folder + "/power1_oem_info")]
        if any("Power Socket" in name for name in names):
            return _sensor(system, Grace, "CPU energy", folder + "/power1_average", _ASK)
    return []


def _none() -> CheckResult:
    remedy = "Virtual machines have none; on your own hardware, load the kernel module intel_rapl_msr."
    found = "power sensor not found (RAPL, NVIDIA Grace, HPE Cray)"
    return CheckResult("CPU energy", NOTE, found, _MEANS, remedy)


def _readers(system: System, file: str) -> str:
    """Return which users may read a file, from its mode, given that this process may."""
    status = os.stat(system.path(file))
    if status.st_mode & stat.S_IROTH:
        return "everybody"
    owner = "root" if status.st_uid == 0 else "its owner"
    return owner + (" and a group" if status.st_mode & stat.S_IRGRP else "") + " only"
