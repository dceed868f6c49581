"""The frequency governor of the processor: https://docs.kernel.org/admin-guide/pm/cpufreq.html."""

from typing import Dict, List, Optional

from ...core import ranges
from ...core.check_result import NOTE, OK, WARNING, CheckResult
from ..host.sysfs import CPUFREQ, System

# With these drivers the processor chooses its frequency: `powersave` is the default, and is not slow.
_OWN_CHOICE = ("intel_pstate", "amd-pstate-epp")
_REMEDY = "Ask the administrators for `performance` (cpupower frequency-set -g performance), or use srun --cpu-freq."


def check(system: System) -> List[CheckResult]:
    """Return the governor of the usable CPUs, and any frequency limit below that of the processor."""
    names = _governors(system)
    governors = chosen(system)
    if not governors:
        return [_untold()]
    if len(governors) > 1:
        parts = ["%s on CPU %s" % (name, ranges.compact(c for c in names if names[c] == name)) for name in governors]
        means = "The speed of a task depends on its CPUs."
        return [CheckResult("governor", WARNING, ", ".join(parts), means, _REMEDY)]
    return [_judged(governors[0], CPUFREQ % system.cpus[0], system), *_capped(system)]


def chosen(system: System) -> List[str]:
    """Return the governors of the usable CPUs, sorted; none without cpufreq."""
    return sorted({governor for governor in _governors(system).values() if governor})


def _governors(system: System) -> Dict[int, Optional[str]]:
    return {cpu: system.text(CPUFREQ % cpu + "scaling_governor") for cpu in system.cpus}


def _judged(governor: str, folder: str, system: System) -> CheckResult:
    driver = system.text(folder + "scaling_driver") or "unknown"
    found = "%s (driver %s)" % (governor, driver)
    if governor == "performance":
        return CheckResult("governor", OK, found)
    if governor == "powersave" and driver in _OWN_CHOICE:
        preference = system.text(folder + "energy_performance_preference")
        if preference in (None, "performance", "balance_performance"):
            return CheckResult("governor", OK, "%s, preference %s" % (found, preference or "unknown"))
        means = "This preference favours saving energy: the clock rises slowly, and short steps run at a low frequency."
        return CheckResult("governor", WARNING, "%s, preference %s" % (found, preference), means, _REMEDY)
    if governor == "powersave":
        means = "The clock stays at its lowest frequency: all steps are slower."
        return CheckResult("governor", WARNING, found, means, _REMEDY)
    means = "The clock follows the load with a delay: short steps and the first seconds run at another frequency."
    return CheckResult("governor", NOTE, found, means, _REMEDY)


def _capped(system: System) -> List[CheckResult]:
    """Return the CPUs with a limit below the maximum frequency of the processor."""
    low = []
    for cpu in system.cpus:
        limit, most = (system.number(CPUFREQ % cpu + name) for name in ("scaling_max_freq", "cpuinfo_max_freq"))
        if limit and most and limit < most:
            low.append((limit, most, cpu))
    if not low:
        return []
    limit, most, _ = min(low)
    found = "limited to %.2f of %.2f GHz on CPU %s" % (
        limit / 1e6,
        most / 1e6,
        ranges.compact([cpu for _, _, cpu in low]),
    )
    means = "The clock may be lower than on other nodes."
    remedy = "Compare only with nodes that have the same limit; srun --cpu-freq may raise it."
    return [CheckResult("frequency limit", NOTE, found, means, remedy)]


def _untold() -> CheckResult:
    means = "The clock frequency may change undetected: virtual machines and some firmware do not report it."
    remedy = "Check the noise floor below; on your own hardware, set power management in the firmware to OS control."
    return CheckResult("governor", NOTE, "governor and turbo unknown (no cpufreq)", means, remedy)
