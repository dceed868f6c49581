"""Sums of counters that fall, wrap around, and vanish for a while."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.node.monitor.counters import Counter


def test_what_was_counted_before_the_first_reading_is_not_ours() -> None:
    counter = Counter()
    assert counter.sum is None
    assert counter.add(1_000_000) == 0
    assert counter.add(1_000_007) == 7


def test_a_counter_that_is_known_to_have_begun_at_zero_counts_from_there() -> None:
    counter = Counter(starts_at=0.0)
    assert counter.sum == 0
    assert [counter.add(reading) for reading in (7, 10)] == [7, 10]


def test_without_a_reading_the_sum_stays_as_it_is() -> None:
    counter = Counter()
    assert counter.add(None) is None
    counter.add(10)
    assert counter.add(None) == 0
    assert counter.add(15) == 5, "what was counted meanwhile is not lost"


def test_a_counter_that_falls_was_set_anew_and_goes_on_from_there() -> None:
    counter = Counter()
    assert [counter.add(reading) for reading in (100, 150, 20, 30)] == [0, 50, 50, 60]
    assert counter.resets == 1


def test_a_counter_that_wraps_around_goes_on() -> None:
    counter = Counter(wraps_at=1000)
    assert [counter.add(reading) for reading in (990, 999, 5, 10)] == [0, 9, 15, 20]
    assert counter.resets == 0


@pytest.mark.parametrize(
    ("before", "after", "step", "resets"),
    [
        (900, 399, 499, 0),
        (900, 400, 0, 1),  # half of the range: as likely set anew
        (900, 500, 0, 1),
        (1000, 0, 0, 0),  # 0 is one reading after the last
        (5000, 10, 0, 1),  # the range is not what we were told
    ],
)
def test_a_fall_by_more_than_half_of_the_range_is_a_wrap(before: int, after: int, step: int, resets: int) -> None:
    counter = Counter(wraps_at=1000)
    counter.add(before)
    assert counter.step(after) == step
    assert counter.resets == resets


@given(st.lists(st.integers(0, 3000), min_size=1), st.none() | st.integers(1, 1000))
def test_a_sum_never_falls(readings: list[int], wraps_at: int | None) -> None:
    counter = Counter(wraps_at)
    sums = [counter.add(reading) or 0 for reading in readings]
    assert all(after >= before for before, after in pairwise(sums))


@given(st.lists(st.integers(0, 400)), st.integers(0, 999))
def test_steps_of_less_than_half_the_range_are_counted_whole_wherever_they_wrap(steps: list[int], start: int) -> None:
    counter = Counter(wraps_at=1000)
    counter.add(start)
    reading = start
    for step in steps:
        reading = (reading + step) % 1000
        counter.add(reading)
    assert (counter.sum, counter.resets) == (sum(steps), 0)
