"""Whether the processor may exceed its nominal clock rate if power and cooling allow it."""

from typing import List, Optional

from ...core.check_result import NOTE, OK, CheckResult
from ..host.sysfs import System

_CPU = "sys/devices/system/cpu/"


def check(system: System) -> List[CheckResult]:
    """Return whether turbo is on; nothing without cpufreq, since the check of the governor reports that."""
    if not system.matching(_CPU + "cpu[0-9]*/cpufreq"):
        return []
    on = is_on(system)
    if on is None:
        means = "If turbo is on, the clock depends on the number of busy cores and on the temperature."
        remedy = "Ask the administrators whether turbo is on."
        return [CheckResult("turbo", NOTE, "unknown (not reported by the driver)", means, remedy)]
    if not on:
        return [CheckResult("turbo", OK, "off: the clock does not depend on the number of busy cores")]
    means = "A few busy cores run at a higher clock than many: the speedup over one core is underestimated."
    remedy = "Compare cases with the same number of busy cores; for scaling studies, request nodes with turbo off."
    return [CheckResult("turbo", NOTE, "on", means, remedy)]


def is_on(system: System) -> Optional[bool]:
    """Return whether turbo is on; None if the driver does not report it."""
    off = system.number(_CPU + "intel_pstate/no_turbo")
    if off is not None:
        return off == 0
    for path in (_CPU + "cpufreq/boost", *system.matching(_CPU + "cpufreq/policy*/boost")):
        on = system.number(path)
        if on is not None:
            return on == 1
    return None
