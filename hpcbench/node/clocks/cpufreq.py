"""The clock of CPUs, by the frequency limits of cpufreq: https://docs.kernel.org/admin-guide/pm/cpufreq.html."""

import os
from typing import Any, ClassVar, Dict, List, Optional

from ...core import ranges
from ...core.profiling.device_state import DeviceState
from ..host.sysfs import CPUFREQ, System
from .control import LOWEST_FRACTION, Control, NotPermitted

_LIMITS = ("scaling_min_freq", "scaling_max_freq")


class FrequencyLimits(Control):
    """The lower and the upper limit of the frequency of all CPUs that this process may use, both at one frequency."""

    method: ClassVar[str] = "frequency limits"

    def __init__(self, system: System) -> None:
        """Find the limits. Raise NotPermitted if they cannot be changed, or also apply to other CPUs."""
        self._folders = [CPUFREQ % cpu for cpu in system.cpus]
        self._system = system
        lowest = [system.number(folder + "cpuinfo_min_freq") for folder in self._folders]
        highest = [system.number(folder + "cpuinfo_max_freq") for folder in self._folders]
        if not self._folders or None in lowest or None in highest:
            raise NotPermitted("cpufreq not found in /sys/devices/system/cpu; virtual machines do not provide it")
        self._lowest_khz = max(khz for khz in lowest if khz is not None)
        self._highest_khz = min(khz for khz in highest if khz is not None)
        self._check_others()
        for folder in self._folders:
            for name in _LIMITS:
                path = system.path(folder + name)
                if not os.access(path, os.W_OK):
                    raise NotPermitted("cannot write to %s; ask your administrator for write access" % path)

    def _check_others(self) -> None:
        own = set(self._system.cpus)
        for folder in self._folders:
            sharing = {int(cpu) for cpu in (self._system.text(folder + "related_cpus") or "").split()}
            if sharing - own:
                others = ranges.compact(sorted(sharing - own))
                what = "the CPUs of the run share their frequency with CPUs %s" % others
                raise NotPermitted("%s; request a whole node and all its CPUs (cpus_per_task)" % what)

    def states(self, number: int) -> List[DeviceState]:
        least = max(self._lowest_khz, LOWEST_FRACTION * self._highest_khz)
        steps = max(number - 1, 1)
        clocks_khz = {self._highest_khz - (self._highest_khz - least) * step / steps for step in range(number)}
        return [DeviceState(mhz, clock_method=self.method) for mhz in sorted({round(khz / 1e3) for khz in clocks_khz})]

    def apply(self, state: DeviceState) -> None:
        khz = min(self._highest_khz, max(self._lowest_khz, 1000 * (state.requested_clock_mhz or 0)))
        _write({self._system.path(folder + name): str(khz) for folder in self._folders for name in _LIMITS})

    def saved(self) -> Dict[str, Any]:
        limits = {}
        for cpu, folder in zip(self._system.cpus, self._folders):
            found = [self._system.number(folder + name) for name in _LIMITS]
            if None in found:
                raise NotPermitted("the limits of CPU %d cannot be read, and so not be restored" % cpu)
            limits[str(cpu)] = found
        return {"method": self.method, "root": self._system.root, "limits": limits}

    @staticmethod
    def restore(saved: Dict[str, Any]) -> None:
        system, limits = System([], saved["root"]), {}
        for cpu, limits_khz in saved["limits"].items():
            for name, khz in zip(_LIMITS, limits_khz):
                limits[system.path(CPUFREQ % int(cpu) + name)] = "%d" % khz
        _write(limits)

    def clock_mhz(self) -> Optional[float]:
        found = [self._system.number(folder + "scaling_cur_freq") for folder in self._folders]
        return max((khz / 1e3 for khz in found if khz is not None), default=None)


def _write(limits: Dict[str, str]) -> None:
    """Write limits by path. The kernel refuses a lower limit above the upper one: write twice, the first time as far
    as it accepts. Raise NotPermitted if it refuses the second time.
    """
    failed = ""
    for _ in range(2):
        failed = ""
        for path, value in limits.items():
            try:
                with open(path, "w", encoding="ascii") as file:
                    file.write(value)
            except OSError as error:
                failed = "%s: %s" % (path, error.strerror)
    if failed:
        raise NotPermitted(failed)
