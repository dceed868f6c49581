"""Power sensors, and who may read them: what is not readable gives no energy, and no guess in its place."""

import ctypes
import os
import stat
from typing import List

from .finding import NOTE, OK, Finding
from .system import System

_RAPL = "sys/class/powercap/*-rapl:*/energy_uj"
_MEANS = "The energy of the CPUs stays empty in the records, unless Slurm's own counter gives it."


def look(system: System) -> List[Finding]:
    found = [*_rapl(system), *_cray(system), *_hwmon(system), *_ipmi(system)]
    return [*(found or [_none()]), *_nvml(system)]


def _none() -> Finding:
    mend = (
        "A virtual machine has none; on hardware of your own, load intel_rapl_msr or the driver of the board's sensors."
    )
    return Finding("CPU power", NOTE, "no sensor: neither RAPL, pm_counters, hwmon nor IPMI", _MEANS, mend)


def _rapl(system: System) -> List[Finding]:
    """https://docs.kernel.org/power/powercap/powercap.html. Since Linux 5.10 root alone may read it (CVE-2020-8694)."""
    files = system.matching(_RAPL)
    if not files:
        return []
    names = sorted({system.text(os.path.dirname(file) + "/name") or "?" for file in files})
    found = "RAPL: %s" % ", ".join(names)
    closed = [file for file in files if not os.access(system.path(file), os.R_OK)]
    if not closed:
        return [Finding("CPU power", OK, "%s; %s" % (found, _readers(system, files[0])))]
    mend = (
        "Ask for AcctGatherEnergyType=acct_gather_energy/rapl in slurm.conf; or for chmod o+r on energy_uj, by a udev"
        " rule or a prolog, which opens the side channel again that closed it."
    )
    return [Finding("CPU power", NOTE, "%s; %s" % (found, _readers(system, closed[0])), _MEANS, mend)]


def _cray(system: System) -> List[Finding]:
    """The counters of HPE Cray's nodes, which everybody may read."""
    files = system.matching("sys/cray/pm_counters/*energy")
    if not files:
        return []
    names = ", ".join(os.path.basename(file) for file in files)
    return [_of_file(system, "node power", "Cray's pm_counters: %s" % names, files[0])]


def _hwmon(system: System) -> List[Finding]:
    """https://docs.kernel.org/hwmon/sysfs-interface.html: energyN_input in microjoules, powerN_input in microwatts."""
    files = system.matching("sys/class/hwmon/hwmon*/energy*_input") + system.matching(
        "sys/class/hwmon/hwmon*/power*_input"
    )
    if not files:
        return []
    names = sorted({system.text(os.path.dirname(file) + "/name") or "?" for file in files})
    return [_of_file(system, "board power", "hwmon: %s" % ", ".join(names), files[0])]


def _ipmi(system: System) -> List[Finding]:
    devices = system.matching("dev/ipmi[0-9]*")
    if not devices:
        return []
    return [_of_file(system, "node power", "IPMI, once a second or slower", devices[0])]


def _of_file(system: System, subject: str, found: str, file: str) -> Finding:
    readers = _readers(system, file)
    if os.access(system.path(file), os.R_OK):
        return Finding(subject, OK, "%s; %s" % (found, readers))
    mend = "Ask for read permission on /%s, or for Slurm's energy counter (AcctGatherEnergyType)." % file
    return Finding(subject, NOTE, "%s; %s" % (found, readers), _MEANS, mend)


def _nvml(system: System) -> List[Finding]:
    """NVIDIA's library tells everybody the power; where there is no GPU there need not be one."""
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        if not system.matching("dev/nvidia[0-9]*"):
            return []
        means = "Power, energy and clocks of the GPUs stay empty in the records."
        mend = "Install the driver's libnvidia-ml.so.1 on the node, or make it seen inside the container."
        return [Finding("GPU power", NOTE, "NVML's library is not there", means, mend)]
    return [Finding("GPU power", OK, "NVML; readable by everybody")]


def _readers(system: System, file: str) -> str:
    """Who may read a file, as its mode says, and whether we may."""
    status = os.stat(system.path(file))
    if status.st_mode & stat.S_IROTH:
        return "readable by everybody"
    some = "root" if status.st_uid == 0 else "its owner"
    some += " and a group" if status.st_mode & stat.S_IRGRP else ""
    return "readable by %s only%s" % (some, ", and that is you" if os.access(system.path(file), os.R_OK) else "")
