"""Packs of what is left: every element once, in order, and in time."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcbench.config.slurm_options import SlurmOptions, time_text, walltime_s
from hpcbench.plan.packing import estimated_s, repack

LIMITS = st.integers(1, 5000)


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[tuple[int, float]], SlurmOptions, int]:
    """Elements with what to expect of each, which is no more than its wall time; what to ask of Slurm; the width."""
    limit_s, spare_s = draw(LIMITS), draw(st.integers(0, 20_000))
    expected = draw(st.lists(st.floats(0.1, limit_s, allow_nan=False), max_size=60))
    elements = draw(st.permutations(range(len(expected))))
    slurm = SlurmOptions(time=time_text(limit_s), pack_walltime=time_text(limit_s + spare_s))
    return list(zip(elements, expected, strict=True)), slurm, draw(st.integers(1, 8))


def lanes_of(seconds: list[float], width: int) -> float:
    """How long a pack takes where each begins when one of the lanes is free."""
    lanes = [0.0] * width
    for each in seconds:
        lanes[lanes.index(min(lanes))] += each
    return max(lanes)


@given(cases())
def test_every_element_is_in_one_pack_and_they_stay_in_order(
    case: tuple[list[tuple[int, float]], SlurmOptions, int],
) -> None:
    elements, slurm, width = case
    packs, _ = repack(elements, slurm, width)
    assert [element for pack in packs for element in pack] == [element for element, _ in elements]
    assert all(packs)


@given(cases())
def test_no_pack_takes_longer_than_it_asks_for_and_none_asks_for_more_than_it_may(
    case: tuple[list[tuple[int, float]], SlurmOptions, int],
) -> None:
    elements, slurm, width = case
    packs, time_s = repack(elements, slurm, width)
    expected = dict(elements)
    for pack in packs:
        assert lanes_of([expected[element] for element in pack], width) <= time_s
    assert walltime_s(slurm.time) <= time_s <= walltime_s(slurm.pack_walltime or "")


@given(cases())
def test_a_pack_is_closed_only_when_the_next_does_not_fit(
    case: tuple[list[tuple[int, float]], SlurmOptions, int],
) -> None:
    elements, slurm, width = case
    packs, _ = repack(elements, slurm, width)
    expected, most_s = dict(elements), walltime_s(slurm.pack_walltime or "")
    for pack, following in itertools.pairwise(packs):
        assert lanes_of([expected[element] for element in (*pack, following[0])], width) > most_s


def test_packs_are_filled_with_what_is_expected_of_each() -> None:
    slurm = SlurmOptions(time="1:00:00", pack_walltime="2:00:00")
    measured = [(element, 600.0) for element in range(25)]
    packs, time_s = repack(measured, slurm, 1)
    assert [len(pack) for pack in packs] == [12, 12, 1]
    assert time_s == 7200
    packs, time_s = repack(measured[:3], slurm, 1)
    assert (packs, time_s) == ([(0, 1, 2)], 3600), "the time that one of them may take, at least"
    packs, time_s = repack(measured, slurm, 2)
    assert ([len(pack) for pack in packs], time_s) == ([24, 1], 7200)


def test_the_time_of_one_repetition_is_not_a_second_more_than_it_says() -> None:
    """It may be all that the partition allows."""
    assert repack([(0, 3600.0)], SlurmOptions(time="1:00:00", pack_walltime="1:30:00"), 1) == ([(0,)], 3600)


def test_without_a_pack_walltime_each_has_a_job_of_its_own() -> None:
    packs, time_s = repack([(4, 1.0), (2, 1.0)], SlurmOptions(time="00:10:00"), 1)
    assert (packs, time_s) == ([(4,), (2,)], 600)


@pytest.mark.parametrize(
    ("measured_s", "expected_s"), [(None, 600), (0.0, 10), (80.0, 110), (472.0, 600), (473.0, 600), (10_000.0, 600)]
)
def test_what_was_measured_is_given_a_quarter_more_and_a_start_up_to_the_wall_time(
    measured_s: float | None, expected_s: float
) -> None:
    assert math.isclose(estimated_s(measured_s, 600), expected_s)
