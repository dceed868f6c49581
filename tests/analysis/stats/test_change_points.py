"""Where a series changes: the statistic beside the literature's, and how often noise looks like a change."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from hpcbench.analysis.stats.change_points import MIN_VALUES, SHORTEST, change_points, fewest_values, sign_sums
from hpcbench.analysis.stats.rank_sum import rank_sum_p, rank_sum_tail

Floats = NDArray[np.float64]
# Page (1955), as in table 1 of Pettitt (1979), who finds K = 232 after the 17th value.
PAGE = """-1.05 0.96 1.22 0.58 -0.98 -0.03 -1.54 -0.71 -0.35 0.66 0.44 0.91 -0.02 -1.42 1.26 -1.02 -0.81 1.66 1.05 0.97
2.14 1.22 -0.24 1.60 0.72 -0.12 0.44 0.03 0.66 0.56 1.37 1.66 0.10 0.80 1.29 0.49 -0.07 1.18 3.29 1.84"""


def places(values: Floats, **settings: float) -> list[int]:
    return [change.place for change in change_points([values], **settings)[0]]


def in_steps(*levels: tuple[int, float], seed: int = 1) -> Floats:
    """So many values of each level, in noise of 1 %."""
    generator = np.random.default_rng(seed)
    return np.concatenate([level * (1 + generator.normal(0, 0.01, count)) for count, level in levels])


def test_the_sums_of_signs_are_those_of_pettitt() -> None:
    sums = sign_sums(np.array(PAGE.split(), dtype=np.float64))
    found = [abs(int(sums[place, 40] - sums[place, place])) for place in range(40)]
    assert (max(found), found.index(max(found))) == (232, 17)


def test_a_rectangle_of_pairs_by_hand() -> None:
    """Of 1, 3, 2: all values after 1 are larger, and 2 is smaller than 3."""
    sums = sign_sums(np.array([1.0, 3.0, 2.0]))
    assert sums[1, 3] - sums[1, 1] == 2
    assert sums[2, 3] - sums[1, 3] - sums[2, 2] + sums[1, 2] == -1


def test_the_chance_of_ranks_by_hand() -> None:
    """2 and 3 values have 10 orders: 1 with no pair the other way round, 1 with one, 2 with two, 2 with three."""
    np.testing.assert_allclose(rank_sum_tail(2, 3)[:4], [0.1, 0.2, 0.4, 0.6])


@pytest.mark.parametrize(("few", "many"), [(5, 95), (10, 10), (7, 8), (10, 190)])
def test_the_chance_of_ranks_is_that_of_the_exact_test(few: int, many: int) -> None:
    generator = np.random.default_rng(3)
    for shift in (0.0, 1.0, 3.0):
        sides = generator.normal(size=few), generator.normal(size=many) + shift
        pairs = int(np.sign(sides[1] - sides[0][:, None]).sum())
        told = 2 * rank_sum_tail(few, many)[(few * many - abs(pairs)) // 2]
        assert min(1.0, told) == pytest.approx(rank_sum_p(*sides), rel=1e-9)


def normal(generator: np.random.Generator, count: int) -> Floats:
    return 1 + generator.normal(0, 0.05, count)


def heavy_tails(generator: np.random.Generator, count: int) -> Floats:
    return np.exp(0.05 * generator.standard_t(2, count))


def two_modes(generator: np.random.Generator, count: int) -> Floats:
    return normal(generator, count) * (1 + 0.4 * (generator.random(count) < 0.5))


def ties(generator: np.random.Generator, count: int) -> Floats:
    return 1.0 + generator.integers(0, 3, count)


@pytest.mark.parametrize("noise", [normal, heavy_tails, two_modes, ties])
@pytest.mark.parametrize("count", [12, 100])
def test_noise_has_changes_as_seldom_as_the_level_says(
    noise: Callable[[np.random.Generator, int], Floats], count: int
) -> None:
    """At a level of 20 %, which more than these of 200 series would exceed once in a thousand times."""
    generator, level = np.random.default_rng(20), 0.2
    alarms = sum(bool(places(noise(generator, count), level=level)) for _ in range(200))
    assert alarms <= binom.ppf(0.999, 200, level)


def test_the_level_is_that_of_all_series_together() -> None:
    """With ten series a call, a call has no more than the level, and each series a tenth of it."""
    generator, level = np.random.default_rng(21), 0.2
    calls = [change_points([normal(generator, 50) for _ in range(10)], level) for _ in range(100)]
    assert sum(any(call) for call in calls) <= binom.ppf(0.999, 100, level)


@pytest.mark.parametrize("seed", range(20))
def test_a_step_of_five_per_cent_is_found_at_its_place(seed: int) -> None:
    assert places(in_steps((70, 1.0), (30, 1.05), seed=seed)) in ([70], [69], [71])


@pytest.mark.parametrize(("before", "after"), [(95, 5), (5, 95), (6, 5), (500, 5)])
def test_a_step_near_an_end_is_found(before: int, after: int) -> None:
    assert places(in_steps((before, 1.0), (after, 1.1))) == [before]


def test_what_got_slow_and_was_mended_is_found_at_both_places() -> None:
    assert places(in_steps((45, 1.0), (10, 1.1), (45, 1.0))) == [45, 55]
    assert places(in_steps((10, 1.0), (10, 1.1), (10, 1.0))) == [10, 20]


def test_ups_and_downs_are_found_with_what_they_divide() -> None:
    (found,) = change_points([in_steps((30, 1.0), (30, 1.1), (30, 1.05), (30, 1.2))])
    assert [(change.start, change.place, change.end) for change in found] == [(0, 30, 60), (30, 60, 90), (60, 90, 120)]
    assert all(change.p_value <= 0.01 for change in found)


def test_a_step_within_the_margin_is_none() -> None:
    values = in_steps((300, 1.0), (300, 1.008))
    assert places(values, margin=0.01) == []
    assert len(places(values, margin=0.005)) == 1


def test_each_change_is_beyond_the_margin_at_its_final_place() -> None:
    for seed in range(200):
        values = 1 + (in_steps((26, 1.0), (14, 1.1), seed=seed) - 1) / 10  # a step of 1 % in noise of 0.1 %
        (changes,) = change_points([values], margin=0.01)
        for change in changes:
            before, after = map(np.median, change.sides(values))
            assert max(before / after, after / before) > 1.01


def test_a_clear_step_of_few_values_is_found_in_one_of_several_series() -> None:
    step, flat = np.repeat([4.0, 4.8], 11), np.ones(22)
    assert [[change.place for change in each] for each in change_points([step, flat, flat, flat])] == [[11], [], [], []]


def test_a_slow_drift_has_changes_only_as_far_apart_as_the_margin() -> None:
    values = np.linspace(1.0, 1.05, 300)
    (found,) = change_points([values], margin=0.01)
    assert 1 <= len(found) <= 4
    for change in found:
        before, after = change.sides(values)
        assert np.median(after) / np.median(before) > 1.01


def test_no_change_is_shorter_than_some_values() -> None:
    """A night, or three, in which all was slow."""
    for count in (1, 2, 3):
        assert places(in_steps((50, 1.0), (count, 1.5), (50, 1.0))) == []


def test_the_fewest_values_in_which_a_change_can_be_found() -> None:
    assert places(in_steps((MIN_VALUES - SHORTEST, 1.0), (SHORTEST, 1.5))) == [MIN_VALUES - SHORTEST]
    assert places(in_steps((MIN_VALUES - SHORTEST - 1, 1.0), (SHORTEST, 1.5))) == []


@pytest.mark.parametrize("values", [[], [1.0], [1.0] * 4, [1.0] * 200])
def test_few_values_and_equal_ones_have_no_change(values: list[float]) -> None:
    assert places(np.array(values, dtype=np.float64)) == []


@pytest.mark.parametrize(("count", "fewest"), [(1, 10), (2, 13), (4, 15), (8, 16), (20, 18), (100, 23)])
def test_the_clearest_change_needs_this_many_values(count: int, fewest: int) -> None:
    assert fewest_values(count) == fewest
    half = fewest // 2
    series = [in_steps((half, 1.0), (fewest - half, 1.5))] * count
    assert [len(found) for found in change_points(series)] == [1] * count
    too_short = [values[1:] for values in series]
    assert [len(found) for found in change_points(too_short)] == [0] * count
