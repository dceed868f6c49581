"""The clock that times steps: its resolution, and the cost of reading it."""

import time
from typing import List, Optional

from ...core.check_result import OK, WARNING, CheckResult
from ..host.sysfs import System

# Clock sources that are read from a device, or count the timer's interrupts (Linux, Documentation/timers).
_SLOW = ("hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit")
_READINGS, _TURNS = 2000, 20
_LONGEST_NS = 1000
_PART = 0.001  # of a step, at most for timing it


def check(system: System) -> List[CheckResult]:
    """Return the resolution and the cost of the clock."""
    source = system.text("sys/devices/system/clocksource/clocksource0/current_clocksource")
    return [evaluate(source, _cost_ns(), _tick_ns())]


def evaluate(source: Optional[str], cost_ns: float, tick_ns: int) -> CheckResult:
    """Return what the clock means for measurements. `cost_ns` is the time of one reading, `tick_ns` the resolution."""
    found = "%.0f ns per reading, resolution %d ns, clock source %s" % (
        cost_ns,
        tick_ns,
        source or "unknown",
    )
    numbers = {"timer_cost_ns": cost_ns, "timer_tick_ns": float(tick_ns)}
    if source not in _SLOW and max(cost_ns, tick_ns) <= _LONGEST_NS:
        return CheckResult("timer", OK, found, numbers=numbers)
    shortest_us = max(cost_ns, tick_ns) / _PART / 1000
    means = "Timing overhead is above 0.1 %% for measurements shorter than %.0f us." % shortest_us
    remedy = "Boot with clocksource=tsc if the TSC is stable (dmesg shows why the kernel rejected it)."
    return CheckResult("timer", WARNING, found, means, remedy, numbers)


def _cost_ns() -> float:
    """Return the time of one reading in ns, from the fastest series, since interference only adds to it."""

    def turn() -> float:
        start = time.perf_counter_ns()
        for _ in range(_READINGS):
            time.perf_counter_ns()
        return (time.perf_counter_ns() - start) / _READINGS

    return min(turn() for _ in range(_TURNS))


def _tick_ns() -> int:
    """Return the smallest difference between two different readings, in ns."""
    least, last = 0, time.perf_counter_ns()
    deadline = last + 50 * 1000 * 1000  # several timer interrupts, if the clock counts only those
    while last < deadline:
        now = time.perf_counter_ns()
        if now != last:
            least = min(least or now - last, now - last)
        last = now
    return least
