"""The noise floor: how much the time of a fixed computation varies on one otherwise idle CPU."""

import os
import statistics
import time
from typing import List, NamedTuple

from ...core.check_result import NOTE, OK, SECONDS, WARNING, CheckResult, Progress, silent
from ..host.proc_stat import TICKS_PER_S, cpu_times
from ..host.sysfs import System

_STEPS = 10000  # a fixed computation of about a millisecond in Python
_WARMUP_S = 0.3
_TAKEN, _TWO_SPEEDS = 0.01, 0.1  # thresholds for naming a cause
_FINE, _FAIR = 0.01, 0.03  # limits of OK and NOTE, for differences and for the fraction of time of others


class Noise(NamedTuple):
    """The variation of the kernel's times. `waited` and `stolen` are the fractions of time in which others had the CPU.

    The smallest difference is computed from the means of whole seconds, since a long step averages over the same noise.
    """

    median_s: float
    p99_over_median: float
    slowest_over_fastest: float  # of the medians of whole seconds
    smallest_difference: float
    waited: float
    stolen: float
    seconds: int


def check(system: System, seconds: int = SECONDS, progress: Progress = silent) -> List[CheckResult]:
    """Return the noise floor, measured for `seconds`."""
    return [evaluate(measure(system, seconds, progress))]


def measure(system: System, seconds: int, progress: Progress) -> Noise:
    """Time the kernel for `seconds`, bound to the last usable CPU: the first CPUs serve most interrupts."""
    cpu = system.cpus[-1]
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, [cpu])
    try:
        _window(_WARMUP_S)
        waited_s, stolen_s, start = _waited_s(system), _stolen_s(system, cpu), time.perf_counter()
        windows = []
        for second in range(seconds):
            progress("noise floor", "second %d of %d" % (second + 1, seconds))
            windows.append(_window(1.0))
        elapsed_s = time.perf_counter() - start
        waited = (_waited_s(system) - waited_s) / elapsed_s
        stolen = (_stolen_s(system, cpu) - stolen_s) / elapsed_s
    finally:
        os.sched_setaffinity(0, before)
    return analyse(windows, waited, stolen)


def analyse(windows: List[List[float]], waited: float, stolen: float) -> Noise:
    """Return the noise for the times of the kernel in each second, `windows`, in seconds."""
    times = sorted(time for window in windows for time in window)
    medians, means = ([of(window) for window in windows] for of in (statistics.median, statistics.fmean))
    median = statistics.median(times)
    return Noise(
        median_s=median,
        p99_over_median=times[-(-len(times) * 99 // 100) - 1] / median,  # nearest rank
        slowest_over_fastest=max(medians) / min(medians),
        smallest_difference=smallest_difference(statistics.stdev(means) / statistics.fmean(means), len(means)),
        waited=waited,
        stolen=stolen,
        seconds=len(windows),
    )


def smallest_difference(deviation: float, count: int) -> float:
    """Return the difference that two means of `count` values each detect at 5 % significance with 80 % power.

    Lehr (1992), "Sixteen S-squared over D-squared: a relation for crude sample size estimates", Statistics in Medicine
    11, 1099-1102: count = 16 deviation^2 / difference^2.
    """
    return float(4 * deviation / count**0.5)


def evaluate(noise: Noise) -> CheckResult:
    """Return what the noise means for measurements."""
    taken = noise.waited + noise.stolen
    difference = _part(noise.smallest_difference)
    found = "two runs of %d s must differ by %s to be distinguishable" % (noise.seconds, difference)
    found += " (%.2g ms of work: p99 %s, slowest second %s, CPU taken by others %s of the time)" % (
        noise.median_s * 1000,
        _over(noise.p99_over_median),
        _over(noise.slowest_over_fastest),
        _part(taken),
    )
    numbers = {"noise_%s" % name: float(value) for name, value in noise._asdict().items()}
    worst = max(noise.smallest_difference, taken)
    if worst <= _FINE:
        return CheckResult("noise floor", OK, found, numbers=numbers)
    level = NOTE if worst <= _FAIR else WARNING
    means = "Smaller differences cannot be detected. Differences between processes are larger. " + _cause(noise)
    return CheckResult("noise floor", level, found, means, _remedy(noise), numbers)


def _cause(noise: Noise) -> str:
    if noise.stolen > max(_TAKEN, noise.waited):
        return "The hypervisor gave the CPU to other guests (steal time)."
    if noise.waited > _TAKEN:
        return "Other processes ran on the CPU."
    if noise.slowest_over_fastest > 1 + _TWO_SPEEDS:
        return "The CPU speed varied without other processes on it: a shared core, or a changing clock."
    return "No other process ran on the CPU; possible causes: interrupts, clock, contention for cache and memory."


def _remedy(noise: Noise) -> str:
    if noise.waited > max(_TAKEN, noise.stolen):
        return (
            "On a cluster request whole nodes (slurm: {exclusive: true}); otherwise stop the other processes or wait."
        )
    return "Request whole nodes (slurm: {exclusive: true}) or use a machine of your own; measure more runs."


def _over(ratio: float) -> str:
    return "%.1fx" % ratio if ratio >= 2 else "+" + _part(ratio - 1)


def _part(part: float) -> str:
    return "%.2g %%" % (100 * part) if part < 0.1 else "%.0f %%" % (100 * part)


def _window(seconds: float) -> List[float]:
    """Return the times of the kernel, in seconds, during a window of `seconds`."""
    timer, times = time.perf_counter, []
    end = timer() + seconds
    last = timer()
    while last < end:
        _kernel()
        now = timer()
        times.append(now - last)
        last = now
    return times


def _kernel() -> int:
    """Run integer arithmetic and jumps without memory: the generator of POSIX's rand()."""
    number = 1
    for _ in range(_STEPS):
        number = (number * 1103515245 + 12345) & 0x7FFFFFFF
    return number


def _waited_s(system: System) -> float:
    """Return how long this thread was ready but did not run, in seconds (Documentation/scheduler/sched-stats.rst)."""
    for path in ("proc/thread-self/schedstat", "proc/self/schedstat"):
        words = (system.text(path) or "").split()
        if len(words) > 1:
            return int(words[1]) / 1e9
    return 0.0


def _stolen_s(system: System, cpu: int) -> float:
    """Return how long the hypervisor did not run this CPU, in seconds (proc(5), steal)."""
    ticks = (each.steal for each in cpu_times(system.content("proc/stat") or b"") if each.cpu == cpu)
    return next(ticks, 0) / TICKS_PER_S
