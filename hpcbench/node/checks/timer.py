"""The clock that steps are timed with: how finely it counts, and what reading it costs."""

import time
from typing import List, Optional

from ...core.check_result import OK, WARNING, CheckResult
from ..host.sysfs import System

# Clock sources that are read from a device, or count the timer's interrupts (Linux, Documentation/timers).
_SLOW = ("hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit")
_READINGS, _TURNS = 2000, 20
_LONGEST_NS = 1000
_PART = 0.001  # of a step that timing it may take


def look(system: System) -> List[CheckResult]:
    source = system.text("sys/devices/system/clocksource/clocksource0/current_clocksource")
    return [judge(source, _cost_ns(), _tick_ns())]


def judge(source: Optional[str], cost_ns: float, tick_ns: int) -> CheckResult:
    """`cost_ns` is what a reading takes, `tick_ns` the smallest difference of two."""
    found = "%.0f ns a reading, ticks of %d ns, clock source %s" % (
        cost_ns,
        tick_ns,
        source or "unknown",
    )
    numbers = {"timer_cost_ns": cost_ns, "timer_tick_ns": float(tick_ns)}
    if source not in _SLOW and max(cost_ns, tick_ns) <= _LONGEST_NS:
        return CheckResult("timer", OK, found, numbers=numbers)
    shortest_us = max(cost_ns, tick_ns) / _PART / 1000
    means = (
        "Timing takes more than 0.1 %% of what is timed in one piece, if that is shorter than %.0f us." % shortest_us
    )
    action = "Boot with clocksource=tsc where the processor's counter is steady (dmesg says why the kernel left it)."
    return CheckResult("timer", WARNING, found, means, action, numbers)


def _cost_ns() -> float:
    """Of one reading, at its quickest: what disturbs only adds to it."""

    def turn() -> float:
        start = time.perf_counter_ns()
        for _ in range(_READINGS):
            time.perf_counter_ns()
        return (time.perf_counter_ns() - start) / _READINGS

    return min(turn() for _ in range(_TURNS))


def _tick_ns() -> int:
    """Two readings may be the same; what is asked for is how far apart two others are at least."""
    least, last = 0, time.perf_counter_ns()
    deadline = last + 50 * 1000 * 1000  # several interrupts of a timer, where it counts only those
    while last < deadline:
        now = time.perf_counter_ns()
        if now != last:
            least = min(least or now - last, now - last)
        last = now
    return least
