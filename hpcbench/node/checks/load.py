"""The load of other processes: on the CPUs of this process, on other CPUs, and as stall time (PSI)."""

import os
import pwd
import time
from typing import Dict, List, NamedTuple, Set, Tuple

from ...core.check_result import NOTE, OK, WARNING, CheckResult
from ..host.proc_stat import TICKS_PER_S, cpu_times
from ..host.sysfs import System
from ..monitor.idle_check import STALLED
from ..monitor.interference import busy_cpus

OBSERVE_S = 2.0
_NAMED = 3
_LITTLE = 0.05  # of one CPU
_PRESSURE, _HIGH_PRESSURE = 1.0, 100 * STALLED  # per cent of the last 10 s

_REMEDY = (
    "On a cluster request whole nodes (slurm: {exclusive: true} in the site file); otherwise stop the load or wait."
)


class Snapshot(NamedTuple):
    """Busy seconds since the start: of each CPU, including steal time, and of each process."""

    cpus: Dict[int, float]
    processes: Dict[int, float]


def check(system: System) -> List[CheckResult]:
    """Return the load of other processes over OBSERVE_S seconds, and the pressure on memory and I/O."""
    before, start = snapshot(system), time.monotonic()
    time.sleep(OBSERVE_S)
    after, seconds = snapshot(system), time.monotonic() - start
    return [judge(system, before, after, seconds), *_waiting(system)]


def snapshot(system: System) -> Snapshot:
    """Return the busy times of all CPUs and processes so far, in seconds."""
    times = cpu_times(system.content("proc/stat") or b"")
    cpus = {each.cpu: (each.busy + each.interrupts + each.steal) / TICKS_PER_S for each in times}
    processes = {}
    for path in system.matching("proc/[0-9]*/stat"):
        words = (system.text(path) or "").rpartition(")")[2].split()
        if words:  # the process may have ended
            processes[int(path.split("/")[1])] = (int(words[11]) + int(words[12])) / TICKS_PER_S
    return Snapshot(cpus, processes)


def judge(system: System, before: Snapshot, after: Snapshot, seconds: float, ours: float = 0.0) -> CheckResult:
    """Return the load of other processes between two snapshots, `seconds` apart; `ours` is our own, in CPUs."""
    on_ours = max(0.0, busy(before, after, seconds, set(system.cpus)) - ours)
    on_others = busy(before, after, seconds, set(after.cpus) - set(system.cpus))
    found = "%.2f of %d usable CPUs busy" % (on_ours, len(system.cpus)) + (" with background load" if ours else "")
    others = len(after.cpus) - len(system.cpus)
    if others > 0:
        found += ", %.2f of the other %d" % (on_others, others)
    numbers = {"busy_own_cpus": on_ours, "busy_other_cpus": on_others}
    disturbs, neighbours = on_ours >= busy_cpus(len(system.cpus)), on_others >= busy_cpus(others)
    if not disturbs and not neighbours:
        return CheckResult("background load", OK, found, numbers=numbers)
    busiest = _busiest(system, before, after, seconds)
    found += ": " + busiest if busiest else "; processes unknown"
    if disturbs:
        means = "Other processes take CPU time: times are longer and vary between runs."
        return CheckResult("background load", WARNING, found, means, _REMEDY, numbers)
    means = "Other processes on the other CPUs share memory bandwidth, caches and power."
    return CheckResult("background load", NOTE, found, means, _REMEDY, numbers)


def busy(before: Snapshot, after: Snapshot, seconds: float, cpus: Set[int]) -> float:
    """Return how many of these CPUs were busy on average between two snapshots, `seconds` apart."""
    both = cpus & set(before.cpus) & set(after.cpus)
    return sum(after.cpus[cpu] - before.cpus[cpu] for cpu in both) / seconds


def _busiest(system: System, before: Snapshot, after: Snapshot, seconds: float) -> str:
    """Return the processes that used the most CPU time, except this one."""
    used = {
        pid: (after.processes[pid] - before.processes[pid]) / seconds
        for pid in set(before.processes) & set(after.processes) - {os.getpid()}
    }
    first = sorted(used, key=lambda pid: -used[pid])[:_NAMED]
    return ", ".join("%s of %s %.2f" % (*_whose(system, pid), used[pid]) for pid in first if used[pid] > _LITTLE)


def _whose(system: System, pid: int) -> Tuple[str, str]:
    """Return the names of a process and of its user."""
    name = "".join(letter if letter.isprintable() else "?" for letter in system.text("proc/%d/comm" % pid) or "?")
    try:
        user = os.stat(system.path("proc/%d" % pid)).st_uid
    except OSError:
        return name, "?"
    try:
        return name, pwd.getpwuid(user).pw_name
    except KeyError:
        return name, str(user)


def _waiting(system: System) -> List[CheckResult]:
    """Return the pressure on memory and I/O in the last 10 s: https://docs.kernel.org/accounting/psi.html."""
    averages = {kind: _average(system, kind) for kind in ("memory", "io")}
    high = ["%s %.0f %%" % (kind, value) for kind, value in averages.items() if value > _PRESSURE]
    if not high:
        return []
    means = "Processes on this machine stall on memory or disk; runs would stall, too."
    remedy = "Find the processes that use them (free, iostat), or request whole nodes and enough memory."
    level = WARNING if max(averages.values()) > _HIGH_PRESSURE else NOTE
    return [
        CheckResult(
            "pressure", level, "fraction of the last 10 s with stalled processes: %s" % ", ".join(high), means, remedy
        )
    ]


def _average(system: System, kind: str) -> float:
    """Return the percentage of the last 10 s in which some work waited; 0 if the kernel does not report it."""
    for line in system.lines("proc/pressure/" + kind):
        if line.startswith("some avg10="):
            return float(line.split()[1].partition("=")[2])
    return 0.0
