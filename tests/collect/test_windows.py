"""Samples over time, and the windows with interference, by hand from the windows of a record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from hpcbench.collect.windows import SAMPLE_COLUMNS, WINDOW_COLUMNS, interference_windows, samples_over_time
from hpcbench.core.record import Interference, Record
from hpcbench.core.samples import Window

MakeRecord = Callable[..., Record]


@pytest.fixture
def timed(make_record: MakeRecord) -> Callable[..., Record]:
    """A record with samples in these windows, and what was found in each of them."""

    def make(
        times_s: list[float],
        windows: list[list[Any]],
        found: list[dict[str, float] | None] | None = None,
        **changes: Any,
    ) -> Record:
        record = make_record(times_s=times_s, **changes)
        judged = None if found is None else Interference("clean", windows=found)
        assert record.measurements
        samples = replace(record.measurements, windows=[Window(*window) for window in windows])
        return replace(record, measurements=samples, interference=judged)

    return make


def columns(frame: pd.DataFrame, *names: str) -> list[list[Any]]:
    return [frame[name].tolist() for name in names]


def test_samples_fill_their_window_one_after_another(timed: MakeRecord) -> None:
    record = timed([1.0, 3.0, 2.0, 2.0], [[100.0, 108.0, 2], [110.0, 118.0, 2]], run=4)
    frame = samples_over_time([record])
    # 1 and 3 parts of 8 s: the steps of a sample are as many as make it two times as long as one of them.
    assert columns(frame, "at_s", "time_s") == [[0.0, 2.0, 10.0, 14.0], [1.0, 3.0, 2.0, 2.0]]
    assert frame["run"].unique().tolist() == [4]


@pytest.mark.parametrize(
    ("times", "at"), [([0.0, 0.0], [0.0, 4.0]), ([-1.0, 3.0], [4.0]), ([-1.0, 1.0, 2.0, float("nan")], [2.0, 4.0])]
)
def test_what_is_no_time_is_left_out_and_moves_no_other(timed: MakeRecord, times: list[float], at: list[float]) -> None:
    frame = samples_over_time([timed(times, [[100.0, 108.0, len(times)]])])
    assert frame["at_s"].tolist() == at


def test_repetitions_have_times_of_their_own(timed: MakeRecord) -> None:
    records = [timed([1.0, 1.0], [[start, start + 2, 2]], run=number) for number, start in ((1, 50.0), (2, 9.0))]
    frame = samples_over_time(records)
    assert columns(frame, "run", "at_s") == [[1, 1, 2, 2], [0.0, 1.0, 0.0, 1.0]]


def test_without_samples_there_are_empty_frames(make_record: MakeRecord, timed: MakeRecord) -> None:
    for records in ([], [make_record(status="failed")], [timed([float("nan")], [[0.0, 1.0, 1]])]):
        assert list(samples_over_time(records)) == SAMPLE_COLUMNS
        assert samples_over_time(records).empty
        assert list(interference_windows(records)) == WINDOW_COLUMNS
        assert interference_windows(records).empty


def test_interference_windows_have_their_causes_and_neighbours_become_one(timed: MakeRecord) -> None:
    ends = [[10.0 + second, 11.0 + second, 1] for second in range(6)]
    found = [{}, {"cpu,memory": 0.3, "cpu": 0.1}, {"memory,cpu": 0.5}, None, {"steal": 0.1}, {"throttling": 0.2}]
    frame = interference_windows([timed([1.0] * 6, ends, found, run=2)])
    assert columns(frame, *WINDOW_COLUMNS) == [
        [2, 2, 2],
        [1.0, 4.0, 5.0],
        [3.0, 5.0, 6.0],
        ["cpu, memory", "steal", "throttling"],
    ]


def test_windows_that_nobody_judged_are_not_disturbed(timed: MakeRecord) -> None:
    assert interference_windows([timed([1.0], [[0.0, 1.0, 1]], None)]).empty
    assert interference_windows([timed([1.0], [[0.0, 1.0, 1]], [])]).empty
