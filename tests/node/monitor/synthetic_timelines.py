"""Timelines that are made up: of a quiet machine, and with what is changed of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hpcbench.node.monitor.interference import Evidence, Window, judge
from hpcbench.node.monitor.timeline import Series, Timeline

Course = float | Callable[[float], float | None]  # of a gauge its value; of a counter, how fast it grows in a second

GAUGES = {"own.processes": 1, "cpu.own_count": 2, "cpu.count": 4}
# Two threads busy on two CPUs of four, and nobody else.
QUIET: dict[str, Course] = {
    **GAUGES,
    "own.cpu_ms": 2000,
    "own.run_us": 2e6,
    "own.wait_us": 1000,
    "own.worst_wait_us": 1000,
    "cpu.own_busy_ms": 2005,
    "cpu.other_busy_ms": 20,
    "cpu.own_steal_ms": 0,
    "quota.throttled_us": 0,
    "pressure.memory_some_us": 0,
}
START, END = 100.0, 110.0


def watched(*, start: float = START, end: float = END, tick: float = 0.1, **changes: Any) -> Timeline:
    """What the monitor wrote from `start` to `end`. `None` takes a column away; `own__cpu_ms` stands for own.cpu_ms."""
    courses = {**QUIET, **{name.replace("__", "."): course for name, course in changes.items()}}
    times = [start + tick * number for number in range(round((end - start) / tick) + 1)]
    series = {}
    for name, course in courses.items():
        if course is not None:
            series[name] = _gauge(times, course) if is_gauge(name) else _counter(times, course)
    header = {"host": "n1", "interval_s": tick, "gauges": list(filter(is_gauge, series)), "facts": {}, "absent": {}}
    return Timeline(header, series, {"ended_s": end})


def is_gauge(name: str) -> bool:
    return name in GAUGES or name.endswith((".throttle_reasons", ".foreign_processes"))


def _gauge(times: list[float], course: Course) -> Series:
    shown = [(time, course(time) if callable(course) else course) for time in times]
    there = [(time, value) for time, value in shown if value is not None]
    return Series([time for time, _ in there], [value for _, value in there])


def _counter(times: list[float], course: Course) -> Series:
    total, last, sums = 0.0, times[0], []
    for time in times:
        rate = course((last + time) / 2) if callable(course) else course
        total += (rate or 0.0) * (time - last)
        last = time
        sums.append(total)
    return Series(times, sums)


def windows(*times: float | None, start: float = START + 1, length: float = 0.5) -> list[Window]:
    """Windows one after another, with these times of a step."""
    return [Window(start + number * length, start + (number + 1) * length, time) for number, time in enumerate(times)]


def evidence(timeline: Timeline, window: Window | None = None, on_gpus: bool = False) -> list[Evidence]:
    (found,) = judge(timeline, [window or Window(102.0, 102.5, 1.0)], on_gpus)
    assert found is not None
    return found
