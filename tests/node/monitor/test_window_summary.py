"""What a node did in a stretch of time, in few numbers."""

from __future__ import annotations

import pytest

from hpcbench.node.monitor import window_summary
from hpcbench.node.monitor.timeline import Series, Timeline

HEADER = {"host": "n1", "interval_s": 0.1, "gauges": ["cpu.running"], "facts": {}, "absent": {}}


def watched(**columns: tuple[list[float], list[float]]) -> Timeline:
    return Timeline(HEADER, {name.replace("__", "."): Series(*given) for name, given in columns.items()}, None)


def test_counters_grow_and_gauges_have_a_least_a_mean_and_a_most() -> None:
    timeline = watched(cpu__busy_ms=([0, 10], [0, 1000]), cpu__running=([0, 1, 2, 3], [9, 1, 2, 6]))
    assert window_summary.of_window(timeline, 1, 3) == {"cpu.busy_ms": 200, "cpu.running": [1, 3, 6]}


@pytest.mark.parametrize(("start", "end"), [(20, 30), (-2, -1)])
def test_what_was_not_read_meanwhile_is_left_out(start: float, end: float) -> None:
    timeline = watched(cpu__busy_ms=([0, 10], [0, 1000]), cpu__running=([0, 1], [1, 1]), never=([], []))
    assert window_summary.of_window(timeline, start, end) == {}


def test_numbers_are_as_long_as_they_are_worth() -> None:
    assert window_summary.of_window(watched(a=([0, 3], [0, 1])), 0, 1) == {"a": 0.333333}
    assert window_summary.of_window(watched(a=([0, 1], [0, 12345678])), 0, 1) == {"a": 12345700}
