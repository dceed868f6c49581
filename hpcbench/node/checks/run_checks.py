"""All checks of a machine by group, in the order in which they are shown, slow ones last."""

from typing import Callable, Dict, Iterator, List, Tuple

from ...core.check_result import HARDWARE, INTERFERENCE, POWER, SECONDS, WARNING, CheckResult, Progress, silent
from ..host.sysfs import System
from . import cpu_quota, governor, gpu_settings, huge_pages, load, noise_floor, numa, power_sensors, smt, timer, turbo

Check = Callable[[System], List[CheckResult]]


def run(system: System, seconds: int = SECONDS, progress: Progress = silent) -> Iterator[Tuple[str, CheckResult]]:
    """Yield each check result with the name of its group. The noise floor is measured for `seconds`.

    `progress` receives the name of each slow check.
    """
    for group, checks in _checks(seconds, progress).items():
        for name, check in checks.items():
            for finding in _found(name, check, system):
                yield group, finding


def _checks(seconds: int, progress: Progress) -> Dict[str, Dict[str, Check]]:
    def background(system: System) -> List[CheckResult]:
        progress("background load", "%.0f s" % load.OBSERVE_S)
        return load.check(system)

    return {
        HARDWARE: {
            "timer": timer.check,
            "governor": governor.check,
            "turbo": turbo.check,
            "SMT": smt.check,
            "NUMA": numa.check,
            "huge pages": huge_pages.check,
        },
        POWER: {"power sensors": power_sensors.check, "GPUs": gpu_settings.check},
        INTERFERENCE: {
            "CPU quota": cpu_quota.check,
            "background load": background,
            "noise floor": lambda system: noise_floor.check(system, seconds, progress),
        },
    }


def _found(name: str, check: Check, system: System) -> List[CheckResult]:
    """Return the results of a check. An exception becomes a result, so that the other checks still run."""
    try:
        return check(system)
    except Exception as error:
        what = "the check failed: %s: %s" % (type(error).__name__, error)
        return [CheckResult(name, WARNING, what, "Its state is unknown.", "Report this line as a bug of hpcbench.")]
