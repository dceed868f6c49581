"""All checks of a machine, by what they are about, in the order in which they are shown. The slow ones come last."""

from typing import Callable, Dict, Iterator, List, Tuple

from ...core.check_result import DISTURBANCE, HARDWARE, POWER, SECONDS, WARNING, CheckResult, Progress, silent
from ..host.sysfs import System
from . import cpu_quota, governor, gpu_settings, huge_pages, load, noise_floor, numa, power_sensors, smt, timer, turbo

Check = Callable[[System], List[CheckResult]]


def look(system: System, seconds: int = SECONDS, progress: Progress = silent) -> Iterator[Tuple[str, CheckResult]]:
    """What each check finds, with the name of its group; the noise floor is looked at for so many seconds.

    `progress` is told of what takes longer.
    """
    for group, checks in _checks(seconds, progress).items():
        for name, check in checks.items():
            for finding in _found(name, check, system):
                yield group, finding


def _checks(seconds: int, progress: Progress) -> Dict[str, Dict[str, Check]]:
    def background(system: System) -> List[CheckResult]:
        progress("background load", "%.0f s" % load.LOOK_S)
        return load.look(system)

    return {
        HARDWARE: {
            "timer": timer.look,
            "governor": governor.look,
            "turbo": turbo.look,
            "SMT": smt.look,
            "NUMA": numa.look,
            "huge pages": huge_pages.look,
        },
        POWER: {"power sensors": power_sensors.look, "GPUs": gpu_settings.look},
        DISTURBANCE: {
            "CPU quota": cpu_quota.look,
            "background load": background,
            "noise floor": lambda system: noise_floor.look(system, seconds, progress),
        },
    }


def _found(name: str, check: Check, system: System) -> List[CheckResult]:
    """One check that stumbles over an odd machine must not cost all others."""
    try:
        return check(system)
    except Exception as error:
        what = "could not be looked at: %s: %s" % (type(error).__name__, error)
        return [
            CheckResult(name, WARNING, what, "Nothing is known of it.", "Tell the authors of hpcbench, with this line.")
        ]
