"""Which windows of measurements were monitored, on synthetic timelines, and what the measurements themselves show."""

from __future__ import annotations

import math
from typing import Any

import pytest

from hpcbench.node.monitor import interference
from hpcbench.node.monitor.interference import Window, judge
from hpcbench.node.monitor.timeline import Series, Timeline
from tests.node.monitor.synthetic_timelines import END, START, evidence, watched, windows

# From when to when a window was watched.


@pytest.mark.parametrize(("start", "end"), [(START, 102.02), (102.0, END)])
def test_a_short_window_at_the_edge_of_what_was_watched_is_not_judged_by_a_few_ticks(start: float, end: float) -> None:
    """What is much of the window, and little of the time around it."""
    ticks = {"cpu__other_busy_ms": lambda time: 1000.0 if 101.96 <= time <= 102.06 else 0.0}
    assert judge(watched(start=start, end=end, tick=0.01, **ticks), [Window(102.0, 102.02, 1.0)]) == [[]]


def test_what_was_watched_for_less_than_ticks_can_tell_is_not_judged() -> None:
    assert judge(watched(start=102.0, end=102.1, tick=0.01), [Window(102.0, 102.05, 1.0)]) == [None]


def test_readings_much_coarser_than_a_window_convict_it_and_do_not_acquit_it() -> None:
    coarse = {"tick": 2.5}
    assert judge(watched(**coarse), windows(1.0)) == [None]
    assert judge(watched(tick=1.5), windows(1.0)) == [[]]
    assert evidence(watched(**coarse, quota__throttled_us=500_000))[0].causes == ("throttling",)
    assert judge(watched(**coarse), [Window(101.0, 103.0, 1.0)]) == [[]]


def test_without_a_monitor_no_window_was_watched() -> None:
    assert judge(None, windows(1.0, 1.0)) == [None, None]
    assert judge(None, []) == []


@pytest.mark.parametrize("column", interference.NEEDED)
def test_without_what_every_verdict_needs_no_window_was_watched(column: str) -> None:
    assert judge(watched(**{column.replace(".", "__"): None}), windows(1.0)) == [None]


@pytest.mark.parametrize(
    ("start", "end", "was_watched"),
    [
        (102.0, 102.5, True),
        (99.8, 100.4, True),  # two thirds of it
        (99.4, 100.4, False),
        (109.8, 110.1, True),
        (109.9, 110.4, False),
        (90.0, 99.0, False),
        (111.0, 112.0, False),
        (95.0, 114.0, True),
        (80.0, 110.0, False),
        (102.0, 102.0, True),  # it has no length
        (99.0, 99.0, False),
        (103.0, 102.0, False),  # the clock went back
    ],
)
def test_a_window_was_watched_where_at_least_half_of_it_was(start: float, end: float, was_watched: bool) -> None:
    (found,) = judge(watched(), [Window(start, end, 1.0)])
    assert (found == []) == was_watched
    assert (found is None) == (not was_watched)


def test_what_was_not_watched_of_a_window_does_not_make_a_disturbance_smaller_or_larger() -> None:
    """A command that is timed as a whole: its processes are found a moment after it began."""
    found = evidence(watched(quota__throttled_us=200_100), Window(95.0, 105.0, 10.0))
    assert found[0].size == pytest.approx(0.1)


def test_work_of_the_repetition_before_it_was_found_is_not_taken_for_somebody_elses() -> None:
    """The CPUs are read from the beginning, its own processes only from 0.9 seconds later."""
    timeline = watched(own__cpu_ms=2000)
    late = watched(start=START + 0.9, own__cpu_ms=2000)
    timeline._series["own.cpu_ms"] = late._series["own.cpu_ms"]
    assert evidence(timeline, Window(START, START + 2, 2.0)) == []


def test_a_window_shorter_than_the_kernels_ticks_can_tell_is_judged_with_what_lies_around_it() -> None:
    timeline = watched(
        own__worst_wait_us=lambda time: 4e5 if 102.0 < time < 102.1 else 0.0,
        cpu__own_busy_ms=lambda time: 2400 if 102.0 < time < 102.1 else 2000,
    )
    for length in (0.0, 1e-9, 1e-3, 0.1):
        middle = Window(102.05 - length / 2, 102.05 + length / 2, 1e-3)
        assert evidence(timeline, middle)[0].size == pytest.approx(0.1)
    assert evidence(timeline, Window(102.3, 102.301, 1e-3)) == []


def test_but_not_with_what_was_not_watched() -> None:
    short = Window(START + 0.01, START + 0.02, 0.01)
    assert evidence(watched(quota__throttled_us=200_100), short)[0].size == pytest.approx(0.1)
    at_the_end = Window(END - 0.02, END - 0.01, 0.01)
    assert evidence(watched(quota__throttled_us=200_100), at_the_end)[0].size == pytest.approx(0.1)


def test_one_look_at_its_processes_tells_nothing() -> None:
    glimpse = watched(own__processes=lambda time: 1 if 102.15 < time < 102.25 else None)
    assert judge(glimpse, [Window(102.1, 102.3, 0.2), Window(102.2, 102.2, 0.0)]) == [None, None]


def test_a_sample_of_ten_minutes_is_judged_by_all_of_them() -> None:
    long = Window(1000.0, 1600.0, 600.0)

    def for_part(part: float) -> Timeline:
        end = 1000 + 600 * part
        return watched(
            start=990.0,
            end=1610.0,
            tick=1.0,
            own__worst_wait_us=lambda time: 1e6 if time < end else 0,
            cpu__own_busy_ms=lambda time: 3000 if time < end else 2000,
        )

    assert evidence(for_part(0.02), long) == []
    assert evidence(for_part(0.04), long)[0].size == pytest.approx(0.04, rel=0.05)


def test_a_clock_that_jumps_ahead_leaves_a_gap_that_is_bridged() -> None:
    """A virtual machine that was stopped: no readings for five seconds, and the counters have gone on."""
    timeline = watched(cpu__own_steal_ms=1000)
    for name, series in timeline._series.items():
        kept = [(time, value) for time, value in zip(*series, strict=True) if not 102 < time < 107]
        timeline._series[name] = Series([time for time, _ in kept], [value for _, value in kept])
    assert evidence(timeline, Window(104.0, 104.5, 1.0))[0].size == pytest.approx(0.5)


# What the samples themselves show.

BESIDE = {"cpu__other_busy_ms": lambda time: 1000.0 if time < START + 3 else 0.0}  # windows 0 to 3


def judged(*times: float | None, **columns: Any) -> list[bool]:
    """Which windows are with_interference, of steps that took so many milliseconds."""
    seconds = [None if time is None else time / 1000 for time in times]
    return [bool(found) for found in judge(watched(**(columns or BESIDE)), windows(*seconds))]


def test_what_went_on_beside_it_is_forgiven_where_it_made_no_difference() -> None:
    assert judged(1.0, 1.01, 1.02, 1.0, 1.01, 1.0, 1.02, 1.0) == 8 * [False]


@pytest.mark.parametrize(
    ("slowest", "forgiven"), [(1.0299, True), (1.0301, False), (2.0, False)], ids=["3 %", "more than 3 %", "twice"]
)
def test_it_is_not_where_one_such_window_was_slower_than_the_fastest_quiet_one(slowest: float, forgiven: bool) -> None:
    assert judged(1.0, slowest, 1.0, 1.0, 1.0, 1.1, 1.2, 1.3) == 4 * [not forgiven] + 4 * [False]


def test_it_is_not_where_there_are_too_few_windows_to_compare() -> None:
    assert judged(1.0, 1.0, 1.0, 1.0, 1.0, 1.0) == [True, True, True, True, False, False]
    assert judged(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0) == 7 * [False]
    short = {"cpu__other_busy_ms": lambda time: 1000.0 if time < START + 2 else 0.0}
    assert judged(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, **short) == [True, True, False, False, False, False]


@pytest.mark.parametrize("nothing", [None, 0.0, math.nan])
def test_a_window_without_a_time_of_its_own_proves_nothing(nothing: float | None) -> None:
    assert judged(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, nothing, nothing) == 4 * [True] + 4 * [False]
    assert judged(nothing, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, nothing) == 8 * [False]
    assert judged(nothing, 9.0, 1.0, 1.0, 1.0, 1.0, 1.0, nothing) == 4 * [True] + 4 * [False]
    assert judged(nothing, nothing, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0) == 4 * [True] + 4 * [False]


def test_what_took_time_from_it_convicts_however_fast_it_was() -> None:
    taken = {
        "own__worst_wait_us": lambda time: 1e5 if time < START + 3 else 0.0,
        "cpu__own_busy_ms": lambda time: 2100 if time < START + 3 else 2000,
    }
    assert judged(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, **taken) == 4 * [True] + 3 * [False]


def test_a_window_that_was_convicted_says_nothing_about_what_went_on_beside_it() -> None:
    stolen = {"cpu__own_steal_ms": lambda time: 500.0 if time < START + 1.5 else 0.0}
    assert judged(5.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, **BESIDE, **stolen) == [True] + 6 * [False]


def test_windows_that_nobody_watched_prove_nothing_and_stay_unknown() -> None:
    times = windows(*([1.0] * 10), start=END - 2.5)
    busy = watched(cpu__other_busy_ms=lambda time: 1000.0 if time < END - 1 else 0.0)
    found = judge(busy, times)
    assert [None if each is None else bool(each) for each in found] == [True, True, True, False, False] + 5 * [None]
