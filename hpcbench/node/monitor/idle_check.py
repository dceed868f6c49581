"""Check that a node is idle before anything is measured on it."""

import contextlib
import time
from typing import Callable, Dict, List, Optional, Tuple, Type

from ..host.open_files import Files
from .interference import busy_cpus
from .processes import OwnProcesses
from .sources.amd import Amd
from .sources.base import Absent, HostView, Source
from .sources.cpu import Cpu
from .sources.nvidia import Nvidia
from .sources.pressure import Pressure

LOOK_S = 1.0
PAUSE_S = 2.0  # between two checks
STALLED = 0.1  # fraction of the time in which some process waited for a disk
BUSY_PERCENT = 5.0  # utilization of a GPU

_OF_GPUS: Tuple[Type[Source], ...] = (Nvidia, Amd)
_UTILISATION = ".utilisation_percent"


def wait(limit_s: float, gpus: bool, pause: Callable[[float], bool]) -> Optional[str]:
    """Wait until the node, and with `gpus` its GPUs, are idle, for about `limit_s` seconds, and check at least once.

    `pause` waits for the given seconds and returns True if the check is no longer required. Return the activity of
    other processes at the end, or None if the node is idle.
    """
    began_s = time.monotonic()
    with contextlib.closing(OwnProcesses("")) as own, contextlib.closing(Files()) as files:
        while True:
            noise = activity(HostView(own, files), gpus)
            if not noise:
                return None
            waited_s = time.monotonic() - began_s
            if waited_s + PAUSE_S + LOOK_S > limit_s:
                return "%s after %.0f s of waiting" % (noise, waited_s) if limit_s else noise
            if pause(PAUSE_S):
                return noise


def activity(host: HostView, gpus: bool = False) -> Optional[str]:
    """Observe the node for one second; return the activity of other processes, or None if it is idle."""
    sources: List[Source] = [Cpu(host)]
    others: Tuple[Type[Source], ...] = (Pressure, *(_OF_GPUS if gpus else ()))
    for kind in others:
        with contextlib.suppress(Absent):
            sources.append(kind(host))
    for source in sources:
        source.read()
    began_s = time.monotonic()
    time.sleep(LOOK_S)
    elapsed_s = time.monotonic() - began_s
    seen = {name: value or 0.0 for source in sources for name, value in zip(source.columns, source.read())}
    stalled = seen.get("pressure.io_some_us", 0.0) / 1e6 / elapsed_s
    used = {name[: -len(_UTILISATION)]: value for name, value in seen.items() if name.endswith(_UTILISATION)}
    return noise(seen["cpu.other_busy_ms"] / 1e3 / elapsed_s, seen["cpu.count"], stalled, used)


def noise(busy: float, count: float, stalled: float, gpus: Dict[str, float]) -> Optional[str]:
    """Return which activity is too high; None if none. `gpus` has the utilization of each GPU in per cent."""
    if busy >= busy_cpus(count):
        return "%.1f of %d CPUs are busy" % (busy, count)
    if stalled >= STALLED:
        return "processes wait for a disk %.0f %% of the time" % (100 * stalled)
    working = ["%s %.0f %%" % (name, percent) for name, percent in gpus.items() if percent >= BUSY_PERCENT]
    return "GPUs are busy: %s of the time" % ", ".join(working) if working else None
