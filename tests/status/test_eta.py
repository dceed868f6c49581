"""When a sweep will have ended, at the pace so far."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.status.eta import MAX_S, MIN_ENDED, PAUSE_S, Span, expected_end


def one_after_another(count: int, each_s: float, begin: float = 0.0) -> list[Span]:
    return [(begin + place * each_s, begin + (place + 1) * each_s) for place in range(count)]


def rounds(count: int, side_by_side: int, each_s: float) -> list[Span]:
    return [span for span in one_after_another(count, each_s) for _ in range(side_by_side)]


@pytest.mark.parametrize("ended", [MIN_ENDED, 10, 20, 21, 22, 100])
def test_what_runs_one_after_another_goes_on_so(ended: int) -> None:
    assert expected_end(one_after_another(ended, 60.0), 1, 30, ended * 60.0) == pytest.approx((ended + 30) * 60.0)


@pytest.mark.parametrize("done", [1, 2, 4, 5, 9])
def test_a_round_of_jobs_that_end_together_is_no_faster_than_it_was(done: int) -> None:
    """64 side by side, of 100 s each: what is left takes five rounds."""
    assert expected_end(rounds(done, 64, 100.0), 64, 5 * 64, done * 100.0) == pytest.approx((done + 5) * 100.0)


@pytest.mark.parametrize("done", [4, 5, 9])
def test_in_the_middle_of_a_round_the_rest_is_known_within_a_third(done: int) -> None:
    now = done * 100.0 + 50.0
    end = expected_end(rounds(done, 64, 100.0), 64, 5 * 64, now)
    assert end is not None
    assert end - now == pytest.approx(450.0, rel=1 / 3)


def test_the_end_moves_while_nothing_ends() -> None:
    late = expected_end(one_after_another(10, 60.0), 1, 10, 700.0)
    assert late is not None
    assert late > 600.0 + 10 * 60.0


def test_the_latest_pace_counts_and_not_that_of_the_beginning() -> None:
    spans = [*one_after_another(100, 1000.0), *one_after_another(21, 10.0, begin=100_000.0)]
    assert expected_end(spans, 1, 6, 100_210.0) == pytest.approx(100_270.0)


@pytest.mark.parametrize(("pause_s", "rest_s"), [(PAUSE_S + 1, 60.0), (PAUSE_S - 1, 60.0 + (PAUSE_S - 1) / 2)])
def test_only_a_long_pause_in_which_nothing_ran_does_not_count(pause_s: float, rest_s: float) -> None:
    spans = [*one_after_another(6, 10.0), *one_after_another(6, 10.0, begin=60.0 + pause_s)]
    now = 120.0 + pause_s
    assert expected_end(spans, 1, 6, now) == pytest.approx(now + rest_s)


@pytest.mark.parametrize(
    ("ended", "running", "now"),
    [(MIN_ENDED - 1, 1, 240.0), (20, 0, 1200.0), (20, 1, 1200.0 + 60.0 + PAUSE_S + 1), (0, 1, 0.0)],
    ids=["too few have ended", "nothing runs", "nothing has ended for long", "nothing has ended"],
)
def test_nothing_is_said_where_it_cannot_be_known(ended: int, running: int, now: float) -> None:
    assert expected_end(one_after_another(ended, 60.0), running, 10, now) is None


SPANS = st.tuples(st.floats(0, 1e6), st.floats(0, 1e5)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(st.lists(SPANS, max_size=60), st.integers(0, 50), st.integers(0, 1000), st.floats(0, 1e6))
def test_whatever_the_clocks_of_the_nodes_say_the_end_is_not_in_the_past(
    spans: list[Span], running: int, left: int, now: float
) -> None:
    end = expected_end(spans, running, left, now)
    assert end is None or end >= now


@pytest.mark.parametrize("span", [(-1e12, 300.0), (1e12, 300.0), (240.0, 1e12), (1e12, 1e12 + 60)])
def test_where_a_clock_was_set_meanwhile_no_end_is_told_that_is_past_or_more_than_a_year_away(span: Span) -> None:
    end = expected_end([*one_after_another(10, 60.0), span], 1, 10_000, 600.0)
    assert end is None or 600.0 <= end <= 600.0 + MAX_S
